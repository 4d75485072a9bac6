#include "common/evaluation/corpus_scores.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/dataset/corpus.h"
#include "common/evaluation/two_stage.h"
#include "common/kernels/cpu.h"
#include "common/kernels/inner_products.h"
#include "common/models/item_encoder.h"

namespace sightline {
namespace {

constexpr int64_t kTextsAtOnce = 512;
constexpr int64_t kPicturesAtOnce = 64;
// A pause, a report and a cancellation are no further apart than so many pairs of a cross-encoder.
constexpr int64_t kPairsAtOnce = 1024;
// Of the pictures whose rows a cross-encoder's block holds.
constexpr int64_t kPreparedAtOnce = 16;
// Pairs that a lone query is timed with at once, of which the pictures are in memory: the batch
// that LightningDOT's times are of.
constexpr int64_t kTimedAtOnce = 400;
// What a search by embeddings keeps of all products.
constexpr int kListed = 20;
constexpr int64_t kPanelTexts = 256;

// Adds the time that it has lived to a number of seconds.
class SecondsInto {
 public:
  SecondsInto(double* seconds, const CallContext& call)
      : seconds_(*seconds), call_(call), begin_(call.clock()->Now()) {}
  ~SecondsInto() { seconds_ += absl::ToDoubleSeconds(call_.clock()->Now() - begin_); }
  SecondsInto(const SecondsInto&) = delete;
  SecondsInto& operator=(const SecondsInto&) = delete;

 private:
  double& seconds_;
  const CallContext& call_;
  const absl::Time begin_;
};

std::string PlaceOf(const PairCorpus& corpus, int64_t caption) {
  return absl::StrCat("the caption \"", corpus.caption(caption), "\" of ",
                      corpus.item_id(corpus.picture_of(caption)));
}

absl::Status CheckReads(const Model& model, const PairCorpus& corpus) {
  const std::vector<int> sizes = model.region_feature_sizes();
  if (std::find(sizes.begin(), sizes.end(), corpus.region_feature_size()) != sizes.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the corpus has region features of ", corpus.region_feature_size(), " numbers; model ",
      model.id(), " reads ",
      sizes.empty() ? "pictures only" : absl::StrCat("those of ", absl::StrJoin(sizes, " or "))));
}

// One region that tells nothing, of the same form.
RegionSet Blank(const RegionSet& regions) {
  RegionSet blank;
  blank.count = 1;
  blank.feature_size = regions.feature_size;
  blank.features.assign(regions.feature_size, 0);
  if (!regions.boxes.empty()) blank.boxes = {0, 0, 1, 1};
  return blank;
}

absl::StatusOr<std::vector<ImageInput>> ReadPictures(const PairCorpus& corpus,
                                                     const ScorerOptions& options, int64_t begin,
                                                     int64_t end) {
  std::vector<ImageInput> pictures;
  for (int64_t i = begin; i < end; ++i) {
    ASSIGN_OR_RETURN(ImageInput picture, corpus.ReadPicture(i));
    if (!options.shows_regions) {
      picture.regions = Blank(picture.regions);
      picture.tags.clear();
    }
    if (!options.shows_words) picture.ocr_tokens.clear();
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

// Products of `pictures` with all texts, row by row.
class TextProducts {
 public:
  explicit TextProducts(const EmbeddingMatrix& texts) : count_(texts.rows()) {
    for (int64_t begin = 0; begin < count_; begin += kPanelTexts) {
      panels_.emplace_back(texts.row(begin).data(), texts.dimension(),
                           std::min(kPanelTexts, count_ - begin), texts.dimension());
    }
  }

  std::vector<float> With(const EmbeddingMatrix& pictures, ComputePool* threads) const {
    std::vector<float> products(pictures.rows() * count_);
    threads->ParallelFor(static_cast<int64_t>(panels_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel) Fill(pictures, panel, products.data());
    });
    return products;
  }

 private:
  void Fill(const EmbeddingMatrix& pictures, int64_t panel, float* products) const {
    const kernels::QueryPanels& texts = panels_[panel];
    const std::vector<float> limits(texts.padded_count(), -std::numeric_limits<float>::infinity());
    std::vector<kernels::Reached> reached(kernels::kMostProductRows * texts.padded_count());
    for (int64_t row = 0; row < pictures.rows(); row += kernels::kMostProductRows) {
      kernels::InnerProducts block = texts.Products();
      block.rows = pictures.row(row).data();
      block.row_stride = pictures.dimension();
      block.row_count = std::min(kernels::kMostProductRows, pictures.rows() - row);
      block.limits = limits.data();
      const int64_t found = kernel_.find(block, reached.data());
      for (int64_t i = 0; i < found; ++i) {
        products[(row + reached[i].row) * count_ + panel * kPanelTexts + reached[i].query] =
            reached[i].product;
      }
    }
  }

  const kernels::InnerProductKernel& kernel_ = kernels::InnerProductKernelFor(kernels::ThisCpu());
  const int64_t count_;
  std::vector<kernels::QueryPanels> panels_;
};

class EmbeddingScorer : public CorpusScorer {
 public:
  EmbeddingScorer(const Model& model, const PairCorpus& corpus, const ScorerOptions& options,
                  ComputePool* threads, const EmbeddingMatrix& texts)
      : model_(model),
        corpus_(corpus),
        options_(options),
        threads_(*threads),
        texts_(texts),
        pictures_(corpus.picture_count(), texts.dimension()) {}

  int64_t rows_at_once() const override { return kPicturesAtOnce; }

  absl::StatusOr<std::vector<float>> Score(int64_t begin, int64_t end, ScoreCosts* costs,
                                           const CallContext& call) override {
    EmbeddingMatrix block;
    {
      const SecondsInto encoding(&costs->encoding_seconds, call);
      ASSIGN_OR_RETURN(const std::vector<ImageInput> pictures,
                       ReadPictures(corpus_, options_, begin, end));
      ASSIGN_OR_RETURN(
          block, Within(absl::StrCat(corpus_.item_id(begin), " to ", corpus_.item_id(end - 1)),
                        model_.image_encoder()->Encode(pictures, call)));
    }
    const SecondsInto scoring(&costs->scoring_seconds, call);
    for (int64_t i = 0; i < block.rows(); ++i) {
      std::copy(block.row(i).begin(), block.row(i).end(), pictures_.mutable_row(begin + i).begin());
    }
    std::vector<float> products = texts_.With(block, &threads_);
    costs->pairs += static_cast<int64_t>(products.size());
    return products;
  }

  // Rows that an earlier run has scored count as zeros here, which takes as long.
  absl::StatusOr<TimedQuery> TimeQuery(int64_t caption, const CallContext& call) override {
    TimedQuery time;
    time.pairs = time.needed_pairs = corpus_.picture_count();
    {
      const SecondsInto all(&time.seconds, call);
      ASSIGN_OR_RETURN(const Tokens tokens, model_.Tokenize(corpus_.caption(caption)));
      ASSIGN_OR_RETURN(const EmbeddingMatrix text,
                       model_.text_encoder()->Encode(absl::MakeConstSpan(&tokens, 1), call));
      const std::vector<float> products = TextProducts(text).With(pictures_, &threads_);
      TwoStageRow(products, kListed);
    }
    return time;
  }

 private:
  const Model& model_;
  const PairCorpus& corpus_;
  const ScorerOptions options_;
  ComputePool& threads_;
  const TextProducts texts_;
  EmbeddingMatrix pictures_;
};

class PairScorer : public CorpusScorer {
 public:
  PairScorer(const Model& model, const PairCorpus& corpus, const ScorerOptions& options,
             absl::optional<ChosenPairs> chosen, std::vector<ItemFeatures> texts)
      : model_(model),
        corpus_(corpus),
        options_(options),
        chosen_(std::move(chosen)),
        texts_(std::move(texts)) {}

  int64_t rows_at_once() const override { return kPreparedAtOnce; }

  absl::StatusOr<std::vector<float>> Score(int64_t begin, int64_t end, ScoreCosts* costs,
                                           const CallContext& call) override {
    std::vector<ItemFeatures> pictures;
    {
      const SecondsInto encoding(&costs->encoding_seconds, call);
      ASSIGN_OR_RETURN(pictures, Prepare(begin, end, call));
    }
    const SecondsInto scoring(&costs->scoring_seconds, call);
    std::vector<float> rows((end - begin) * corpus_.caption_count(),
                            std::numeric_limits<float>::quiet_NaN());
    const std::vector<Place> all = PlacesOf(begin, end);
    for (size_t first = 0; first < all.size(); first += size_t{kPairsAtOnce}) {
      const auto places = absl::MakeConstSpan(all).subspan(first, kPairsAtOnce);
      RETURN_IF_ERROR(ScorePlaces(pictures, places, begin, &rows, call));
      costs->pairs += static_cast<int64_t>(places.size());
    }
    return rows;
  }

  absl::StatusOr<TimedQuery> TimeQuery(int64_t caption, const CallContext& call) override {
    TimedQuery time;
    time.needed_pairs = PairsOfAQuery();
    time.pairs = std::min({options_.timed_pairs, time.needed_pairs, corpus_.picture_count()});
    ItemFeatures text;
    {
      const SecondsInto reading(&time.seconds, call);
      ASSIGN_OR_RETURN(text, TextFeatures(model_, corpus_.caption(caption)));
    }
    for (int64_t begin = 0; begin < time.pairs; begin += kTimedAtOnce) {
      const int64_t end = std::min(begin + kTimedAtOnce, time.pairs);
      ASSIGN_OR_RETURN(const std::vector<ItemFeatures> pictures, Prepare(begin, end, call));
      const SecondsInto scoring(&time.seconds, call);
      std::vector<ScoringPair> pairs;
      for (const ItemFeatures& picture : pictures) pairs.push_back({&text, &picture});
      RETURN_IF_ERROR(model_.cross_encoder()->Score(pairs, call).status());
    }
    time.seconds *= static_cast<double>(time.needed_pairs) / static_cast<double>(time.pairs);
    return time;
  }

 private:
  struct Place {
    int64_t row, caption;
  };

  // Of each caption all of its pictures in a row, so that a text is in one call of a block, or two,
  // and is read as often.
  std::vector<Place> PlacesOf(int64_t begin, int64_t end) const {
    std::vector<Place> places;
    for (int64_t picture = begin; picture < end; ++picture) {
      for (int64_t i = 0; i < CaptionCount(picture); ++i) {
        places.push_back({picture - begin, CaptionAt(picture, i)});
      }
    }
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
      return std::tie(a.caption, a.row) < std::tie(b.caption, b.row);
    });
    return places;
  }

  int64_t CaptionCount(int64_t picture) const {
    return chosen_.has_value() ? static_cast<int64_t>((*chosen_)[picture].size())
                               : corpus_.caption_count();
  }
  int64_t CaptionAt(int64_t picture, int64_t i) const {
    return chosen_.has_value() ? (*chosen_)[picture][i] : i;
  }

  int64_t PairsOfAQuery() const {
    if (!chosen_.has_value()) return corpus_.picture_count();
    int64_t pairs = 0;
    for (const std::vector<int>& captions : *chosen_) {
      pairs += static_cast<int64_t>(captions.size());
    }
    return std::max<int64_t>(1, pairs / corpus_.caption_count());
  }

  absl::StatusOr<std::vector<ItemFeatures>> Prepare(int64_t begin, int64_t end,
                                                    const CallContext& call) const {
    ASSIGN_OR_RETURN(const std::vector<ImageInput> pictures,
                     ReadPictures(corpus_, options_, begin, end));
    return Within(absl::StrCat(corpus_.item_id(begin), " to ", corpus_.item_id(end - 1)),
                  model_.cross_encoder()->PrepareImages(pictures, call));
  }

  absl::Status ScorePlaces(const std::vector<ItemFeatures>& pictures,
                           absl::Span<const Place> places, int64_t begin, std::vector<float>* rows,
                           const CallContext& call) const {
    RETURN_IF_ERROR(call.Check("score the pairs"));
    std::vector<ScoringPair> pairs;
    for (const Place& place : places) {
      pairs.push_back({&texts_[place.caption], &pictures[place.row]});
    }
    ASSIGN_OR_RETURN(const std::vector<float> scores, model_.cross_encoder()->Score(pairs, call));
    for (size_t i = 0; i < places.size(); ++i) {
      if (!std::isfinite(scores[i])) {
        return absl::InternalError(
            absl::StrCat("model ", model_.id(), " scores ", corpus_.item_id(begin + places[i].row),
                         " with \"", corpus_.caption(places[i].caption), "\" as ", scores[i]));
      }
      (*rows)[places[i].row * corpus_.caption_count() + places[i].caption] = scores[i];
    }
    return absl::OkStatus();
  }

  const Model& model_;
  const PairCorpus& corpus_;
  const ScorerOptions options_;
  const absl::optional<ChosenPairs> chosen_;
  const std::vector<ItemFeatures> texts_;  // of each caption
};

absl::StatusOr<EmbeddingMatrix> EncodeCaptions(const Model& model, const PairCorpus& corpus,
                                               const CallContext& call) {
  EmbeddingMatrix all(corpus.caption_count(), model.dimension());
  for (int64_t begin = 0; begin < corpus.caption_count(); begin += kTextsAtOnce) {
    const int64_t end = std::min(begin + kTextsAtOnce, corpus.caption_count());
    std::vector<Tokens> texts;
    for (int64_t i = begin; i < end; ++i) {
      ASSIGN_OR_RETURN(texts.emplace_back(),
                       Within(PlaceOf(corpus, i), model.Tokenize(corpus.caption(i))));
    }
    const auto rows = EncodeTexts(model, texts, call);
    for (int64_t i = begin; i < end; ++i) {
      const auto& row = rows[i - begin];
      RETURN_IF_ERROR(Within(PlaceOf(corpus, i), row.status()));
      std::copy(row->begin(), row->end(), all.mutable_row(i).begin());
    }
  }
  return all;
}

}  // namespace

MatrixItems MatrixItemsOf(const PairCorpus& corpus) {
  MatrixItems items;
  for (int64_t picture = 0; picture < corpus.picture_count(); ++picture) {
    items.images.push_back(corpus.item_id(picture));
    items.families.push_back(static_cast<int>(picture));
    std::map<std::string, int> count;  // of each language
    for (int64_t i = 0; i < corpus.caption_count(picture); ++i) {
      const std::string& language = corpus.language(corpus.first_caption(picture) + i);
      items.captions.push_back({CaptionId(items.images.back(), language, ++count[language]),
                                static_cast<int>(picture), language});
    }
  }
  items.family_count = static_cast<int>(items.images.size());
  return items;
}

absl::StatusOr<std::unique_ptr<CorpusScorer>> ScoreByEmbeddings(
    const Model& model, const PairCorpus& corpus, const ScorerOptions& options,
    ComputePool* threads, ScoreCosts* costs, const CallContext& call) {
  if (model.text_encoder() == nullptr || model.image_encoder() == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("model ", model.id(), " has no embeddings of ",
                     model.text_encoder() == nullptr ? "texts" : "pictures"));
  }
  RETURN_IF_ERROR(CheckReads(model, corpus));
  const SecondsInto encoding(&costs->encoding_seconds, call);
  ASSIGN_OR_RETURN(const EmbeddingMatrix texts, EncodeCaptions(model, corpus, call));
  return std::make_unique<EmbeddingScorer>(model, corpus, options, threads, texts);
}

absl::StatusOr<std::unique_ptr<CorpusScorer>> ScoreByPairs(
    const Model& model, const PairCorpus& corpus, const ScorerOptions& options,
    absl::optional<ChosenPairs> chosen, ScoreCosts* costs, const CallContext& call) {
  if (model.cross_encoder() == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("model ", model.id(), " has no cross-encoder, which scores pairs"));
  }
  RETURN_IF_ERROR(CheckReads(model, corpus));
  const SecondsInto encoding(&costs->encoding_seconds, call);
  std::vector<ItemFeatures> texts;
  for (int64_t i = 0; i < corpus.caption_count(); ++i) {
    ASSIGN_OR_RETURN(texts.emplace_back(),
                     Within(PlaceOf(corpus, i), TextFeatures(model, corpus.caption(i))));
  }
  return std::make_unique<PairScorer>(model, corpus, options, std::move(chosen), std::move(texts));
}

}  // namespace sightline
