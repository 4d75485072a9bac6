#include "common/training/development.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/training/learner_outputs.h"

namespace sightline {
namespace {

constexpr std::array<int64_t, 3> kCutoffs = {1, 5, 10};
constexpr int64_t kItemsPerPass = 64;

class EvaluationMode {
 public:
  explicit EvaluationMode(torch::nn::Module* module)
      : module_(*module), was_training_(module->is_training()) {
    module_.eval();
  }
  ~EvaluationMode() { module_.train(was_training_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  torch::nn::Module& module_;
  const bool was_training_;
};

// The pool, whose texts are held and whose pictures are read a pass at a time.
class Pool {
 public:
  Pool(const TrainableNetwork& learner, const PairCorpus& corpus, int64_t pictures)
      : learner_(learner), corpus_(corpus), pictures_(pictures) {}

  absl::Status ReadTexts(int64_t captions) {
    for (int64_t caption = 0; caption < captions; ++caption) {
      ASSIGN_OR_RETURN(Tokens tokens, learner_.text->Tokenize(corpus_.caption(caption)));
      tokens_.push_back(std::move(tokens.ids));
    }
    texts_.assign(tokens_.begin(), tokens_.end());
    return absl::OkStatus();
  }
  const std::vector<TokenSpan>& texts() const { return texts_; }

  // Gives `take` the pictures, kItemsPerPass at a time, in their order.
  template <typename Take>
  absl::Status ReadPictures(const CallContext& call, const Take& take) const {
    for (int64_t begin = 0; begin < pictures_; begin += kItemsPerPass) {
      RETURN_IF_ERROR(call.Check("look at the development pictures"));
      std::vector<ImageNumbers> numbers;
      for (int64_t i = begin; i < std::min(begin + kItemsPerPass, pictures_); ++i) {
        ASSIGN_OR_RETURN(const ImageInput input, corpus_.ReadPicture(i));
        ASSIGN_OR_RETURN(numbers.emplace_back(), learner_.network->ReadImage(input));
      }
      std::vector<const ImageNumbers*> images;
      for (const ImageNumbers& image : numbers) images.push_back(&image);
      take(images);
    }
    return absl::OkStatus();
  }

 private:
  const TrainableNetwork& learner_;
  const PairCorpus& corpus_;
  const int64_t pictures_;
  std::vector<std::vector<int32_t>> tokens_;
  std::vector<TokenSpan> texts_;
};

// `compute` of spans of at most kItemsPerPass items.
template <typename Item, typename Compute>
absl::StatusOr<at::Tensor> InPasses(const std::vector<Item>& items, const CallContext& call,
                                    const Compute& compute) {
  std::vector<at::Tensor> rows;
  const absl::Span<const Item> all(items);
  for (size_t begin = 0; begin < all.size(); begin += kItemsPerPass) {
    RETURN_IF_ERROR(call.Check("look at the development pictures"));
    rows.push_back(compute(all.subspan(begin, kItemsPerPass)));
  }
  return at::cat(rows);
}

absl::StatusOr<at::Tensor> TowerScores(const TrainableNetwork& learner, const Pool& pool,
                                       const CallContext& call) {
  const Network& network = *learner.network;
  std::vector<at::Tensor> images;
  RETURN_IF_ERROR(pool.ReadPictures(call, [&](const std::vector<const ImageNumbers*>& part) {
    images.push_back(ComparedRows(learner, network.EncodeImages(part)));
  }));
  ASSIGN_OR_RETURN(const at::Tensor texts,
                   InPasses(pool.texts(), call, [&](absl::Span<const TokenSpan> part) {
                     return ComparedRows(learner, network.EncodeTexts(part));
                   }));
  return at::mm(texts, at::cat(images).t());
}

absl::StatusOr<at::Tensor> PairScores(const TrainableNetwork& learner, const Pool& pool,
                                      const CallContext& call) {
  const Network& network = *learner.network;
  std::vector<FeatureRows> images;
  RETURN_IF_ERROR(pool.ReadPictures(call, [&](const std::vector<const ImageNumbers*>& part) {
    for (FeatureRows& rows : network.PrepareImages(part)) images.push_back(std::move(rows));
  }));
  std::vector<at::Tensor> scores;
  for (const TokenSpan text : pool.texts()) {
    const PreparedText prepared = network.PrepareText(text);
    std::vector<NetworkPair> pairs;
    for (const FeatureRows& image : images) {
      pairs.push_back({text, &prepared, {image.begin(), image.end()}});
    }
    ASSIGN_OR_RETURN(const at::Tensor row,
                     InPasses(pairs, call, [&](absl::Span<const NetworkPair> part) {
                       return RankingScores(network.ScorePairs(part));
                     }));
    scores.push_back(row);
  }
  return at::stack(scores);
}

// Counts each query's best right answer.
class Recalls {
 public:
  void Add(int64_t rank) {
    ++queries_;
    for (size_t i = 0; i < kCutoffs.size(); ++i) hits_[i] += rank <= kCutoffs[i] ? 1 : 0;
  }
  DirectionRecall Percent() const {
    DirectionRecall recall;
    for (size_t i = 0; i < kCutoffs.size(); ++i) {
      recall.at[i] = 100.0 * static_cast<double>(hits_[i]) / static_cast<double>(queries_);
    }
    return recall;
  }

 private:
  std::array<int64_t, 3> hits_ = {};
  int64_t queries_ = 0;
};

// The rank of the best of the right places of a row of `count` scores, `stride` apart.
template <typename IsRight>
int64_t BestRank(const float* scores, int64_t count, int64_t stride, const IsRight& is_right) {
  float best = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    if (is_right(i)) best = std::max(best, scores[i * stride]);
  }
  int64_t rank = 1;
  for (int64_t i = 0; i < count; ++i) {
    // Negated, so that a score that is no number is never beaten.
    if (!is_right(i) && !(scores[i * stride] < best)) ++rank;
  }
  return rank;
}

DevelopmentFinding Find(const at::Tensor& matrix, const PairCorpus& corpus) {
  const at::Tensor scores = matrix.to(at::kCPU).contiguous();
  const float* const numbers = scores.data_ptr<float>();
  const int64_t captions = scores.size(0), pictures = scores.size(1);
  Recalls text_to_image, image_to_text;
  for (int64_t caption = 0; caption < captions; ++caption) {
    text_to_image.Add(BestRank(numbers + caption * pictures, pictures, 1, [&](int64_t picture) {
      return corpus.MayBeRight(caption, picture);
    }));
  }
  for (int64_t picture = 0; picture < pictures; ++picture) {
    image_to_text.Add(BestRank(numbers + picture, captions, pictures, [&](int64_t caption) {
      return corpus.MayBeRight(caption, picture);
    }));
  }
  DevelopmentFinding finding;
  finding.text_to_image = text_to_image.Percent();
  finding.image_to_text = image_to_text.Percent();
  for (size_t i = 0; i < kCutoffs.size(); ++i) {
    finding.score += (finding.text_to_image.at[i] + finding.image_to_text.at[i]) /
                     (2.0 * static_cast<double>(kCutoffs.size()));
  }
  return finding;
}

}  // namespace

absl::StatusOr<DevelopmentReport> LookAtDevelopment(const TrainableNetwork& learner,
                                                    const PairCorpus& corpus, int64_t pictures,
                                                    const std::vector<DevelopmentWay>& ways,
                                                    const CallContext& call) {
  const at::NoGradGuard no_grad;
  const EvaluationMode evaluation(learner.module.get());
  DevelopmentReport report;
  report.pictures =
      pictures == 0 ? corpus.picture_count() : std::min(pictures, corpus.picture_count());
  const int64_t last = report.pictures - 1;
  report.captions = corpus.first_caption(last) + corpus.caption_count(last);
  Pool pool(learner, corpus, report.pictures);
  RETURN_IF_ERROR(pool.ReadTexts(report.captions));
  for (const DevelopmentWay way : ways) {
    ASSIGN_OR_RETURN(const at::Tensor scores, way == DevelopmentWay::kTowers
                                                  ? TowerScores(learner, pool, call)
                                                  : PairScores(learner, pool, call));
    report.findings.push_back(Find(scores, corpus));
    report.findings.back().way = way;
    report.score += report.findings.back().score / static_cast<double>(ways.size());
  }
  return report;
}

}  // namespace sightline
