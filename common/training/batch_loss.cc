#include "common/training/batch_loss.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <functional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/training/learner_outputs.h"
#include "common/training/passes.h"
#include "common/training/random.h"

namespace sightline {
namespace {

using Numbers = std::vector<int64_t>;

int64_t RowsOf(const ItemShape& shape) {
  return shape.text_rows + shape.region_rows;
}

// One side of the towers.
class Side {
 public:
  using Encode = std::function<at::Tensor(const Numbers& items)>;

  Side(const Numbers& lengths, int64_t pass_rows, uint64_t seed, Encode encode)
      : passes_(PassesOf(lengths, pass_rows)),
        places_(lengths.size()),
        seed_(seed),
        encode_(std::move(encode)) {
    int64_t next = 0;
    for (const Numbers& pass : passes_) {
      for (const int64_t item : pass) places_[item] = next++;
    }
  }

  // All embeddings, in the items' order: with gradients if there is one pass, else a leaf.
  at::Tensor Rows() {
    if (passes_.size() == 1) return InOrder(EncodePass(0));
    std::vector<at::Tensor> parts;
    {
      const at::NoGradGuard no_grad;
      for (size_t i = 0; i < passes_.size(); ++i) parts.push_back(EncodePass(i));
    }
    leaf_ = InOrder(at::cat(parts)).set_requires_grad(true);
    return leaf_;
  }

  // Hands on what the leaf's gradient says.
  void Backward() {
    if (!leaf_.defined() || !leaf_.grad().defined()) return;
    for (size_t i = 0; i < passes_.size(); ++i) {
      const at::Tensor items = at::tensor(passes_[i], at::kLong).to(leaf_.device());
      EncodePass(i).backward(leaf_.grad().index_select(0, items));
    }
  }

 private:
  at::Tensor EncodePass(size_t i) {
    at::manual_seed(SeedOf(seed_, RandomStream::kDropout, i));
    return encode_(passes_[i]);
  }

  at::Tensor InOrder(const at::Tensor& rows) const {
    return rows.index_select(0, at::tensor(places_, at::kLong).to(rows.device()));
  }

  const std::vector<Numbers> passes_;
  Numbers places_;  // of each item, in what the passes give one after another
  const uint64_t seed_;
  const Encode encode_;
  at::Tensor leaf_;
};

Loss WithoutGraph(const Loss& loss) {
  return {loss.value.detach(), loss.first.defined() ? loss.first.detach() : at::Tensor()};
}

template <typename Item>
std::vector<Item> Chosen(const std::vector<Item>& items, const Numbers& numbers) {
  std::vector<Item> chosen;
  for (const int64_t number : numbers) chosen.push_back(items[number]);
  return chosen;
}

// Inner products of the texts and images of all pairs, by problems.
at::Tensor ProductsOf(const TowerRows& rows, const PairBatch& batch) {
  Numbers texts, images;
  for (const auto& [text, image] : batch.pairs) {
    texts.push_back(text);
    images.push_back(image);
  }
  const auto chosen = [](const at::Tensor& all, const Numbers& numbers) {
    return all.index_select(0, at::tensor(numbers, at::kLong).to(all.device()));
  };
  return (chosen(rows.texts, texts) * chosen(rows.images, images))
      .sum(1)
      .view({-1, batch.candidates});
}

absl::StatusOr<Loss> OfTowers(const Objective& objective, const BatchLossOptions& options,
                              const PairBatch& batch, const TrainableNetwork& learner,
                              const at::Tensor& log_scale) {
  const Network& network = *learner.network;
  Numbers text_lengths, image_lengths;
  for (const TokenSpan text : batch.texts) {
    text_lengths.push_back(RowsOf(network.TextShape(static_cast<int64_t>(text.size()))));
  }
  for (const ImageNumbers* image : batch.images) {
    image_lengths.push_back(RowsOf(network.ImageShape(*image)));
  }
  Side texts(text_lengths, options.pass_rows, SeedOf(options.seed, RandomStream::kTokens, 0),
             [&](const Numbers& items) {
               return ComparedRows(learner, network.EncodeTexts(Chosen(batch.texts, items)));
             });
  Side images(image_lengths, options.pass_rows, SeedOf(options.seed, RandomStream::kTokens, 1),
              [&](const Numbers& items) {
                return ComparedRows(learner, network.EncodeImages(Chosen(batch.images, items)));
              });
  TowerRows rows;
  rows.texts = texts.Rows();
  rows.images = images.Rows();
  rows.related = batch.related;
  ObjectiveInput input = rows;
  if (objective.reads == ObjectiveReads::kScaledTowerRows) input = ScaledTowerRows{rows, log_scale};
  if (objective.reads_teacher) input = Predictions{ProductsOf(rows, batch), batch.taught};
  ASSIGN_OR_RETURN(const Loss loss, ComputeLoss(objective, input, options.objective));
  loss.value.backward();
  texts.Backward();
  images.Backward();
  return WithoutGraph(loss);
}

// Every text with every image.
absl::StatusOr<Loss> OfMatrix(const Objective& objective, const BatchLossOptions& options,
                              const PairBatch& batch, const TrainableNetwork& learner) {
  const Network& network = *learner.network;
  at::manual_seed(SeedOf(options.seed, RandomStream::kDropout, 0));
  const std::vector<FeatureRows> images = network.PrepareImages(batch.images);
  const std::vector<PreparedText> texts = network.PrepareTexts(batch.texts);
  std::vector<at::Tensor> scores;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<NetworkPair> pairs;
    for (const FeatureRows& image : images) {
      pairs.push_back({batch.texts[i], &texts[i], {image.begin(), image.end()}});
    }
    scores.push_back(MatchProbabilities(learner, network.ScorePairs(pairs)));
  }
  ASSIGN_OR_RETURN(
      const Loss loss,
      ComputeLoss(objective, BatchScores{at::stack(scores), batch.related}, options.objective));
  loss.value.backward();
  return WithoutGraph(loss);
}

// What was made of items once, for many passes that each end in leaves and free their memory.
template <typename Prepared>
class Leaves {
 public:
  explicit Leaves(std::vector<Prepared> made) : made_(std::move(made)), leaves_(made_) {
    for (Prepared& item : leaves_) {
      for (at::Tensor& tensor : item) {
        if (tensor.requires_grad()) tensor = tensor.detach().set_requires_grad(true);
      }
    }
  }

  const Prepared& operator[](int64_t item) const { return leaves_[item]; }

  void Backward() const {
    std::vector<at::Tensor> roots, gradients;
    for (size_t i = 0; i < made_.size(); ++i) {
      for (size_t k = 0; k < made_[i].size(); ++k) {
        if (!leaves_[i][k].grad().defined()) continue;
        roots.push_back(made_[i][k]);
        gradients.push_back(leaves_[i][k].grad());
      }
    }
    if (!roots.empty()) torch::autograd::backward(roots, gradients);
  }

 private:
  const std::vector<Prepared> made_;
  std::vector<Prepared> leaves_;
};

// What the objective reads of the heads of some problems' pairs.
ObjectiveInput InputOf(const Objective& objective, const PairBatch& batch, const Numbers& problems,
                       const at::Tensor& heads) {
  const auto count = static_cast<int64_t>(problems.size());
  if (!objective.reads_teacher) {
    return PairLogits{heads.view({count, batch.candidates, heads.size(1)})};
  }
  const at::Tensor rows = at::tensor(problems, at::kLong).to(batch.taught.device());
  return Predictions{RankingScores(heads).view({count, batch.candidates}),
                     batch.taught.index_select(0, rows)};
}

absl::StatusOr<Loss> OfPairs(const Objective& objective, const BatchLossOptions& options,
                             const PairBatch& batch, const TrainableNetwork& learner) {
  const Network& network = *learner.network;
  at::manual_seed(SeedOf(options.seed, RandomStream::kTokens, 0));
  const Leaves<FeatureRows> images(network.PrepareImages(batch.images));
  const Leaves<PreparedText> texts(network.PrepareTexts(batch.texts));
  const int64_t problems = static_cast<int64_t>(batch.pairs.size()) / batch.candidates;
  Numbers lengths(problems, 0);
  for (size_t i = 0; i < batch.pairs.size(); ++i) {
    const auto [text, image] = batch.pairs[i];
    int64_t& length = lengths[i / batch.candidates];
    length = std::max<int64_t>(length, batch.texts[text].size() + batch.images[image]->rows());
  }
  for (int64_t& length : lengths) length *= batch.candidates;

  Loss sum;
  int64_t number = 0;
  for (const Numbers& pass : PassesOf(lengths, options.pass_rows)) {
    std::vector<NetworkPair> pairs;
    for (const int64_t problem : pass) {
      for (int64_t i = problem * batch.candidates; i < (problem + 1) * batch.candidates; ++i) {
        const auto [text, image] = batch.pairs[i];
        pairs.push_back(
            {batch.texts[text], &texts[text], {images[image].begin(), images[image].end()}});
      }
    }
    at::manual_seed(SeedOf(options.seed, RandomStream::kDropout, number++));
    const at::Tensor heads = PairLogitsOf(learner, network.ScorePairs(pairs));
    ASSIGN_OR_RETURN(const Loss loss, ComputeLoss(objective, InputOf(objective, batch, pass, heads),
                                                  options.objective));
    sum = AddedUp(sum, loss, static_cast<double>(pass.size()) / static_cast<double>(problems));
  }
  images.Backward();
  texts.Backward();
  return sum;
}

// Whether it is computed by embeddings.
bool IsOfTowers(const Objective& objective, const BatchLossOptions& options) {
  return objective.reads == ObjectiveReads::kTowerRows ||
         objective.reads == ObjectiveReads::kScaledTowerRows ||
         (objective.reads_teacher && options.distils_towers);
}

absl::Status Lacks(const Objective& objective, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the objective ", objective.name, " needs ", what));
}

absl::Status CheckProblems(const Objective& objective, const PairBatch& batch) {
  const auto pairs = static_cast<int64_t>(batch.pairs.size());
  if (batch.candidates < 2 || pairs == 0 || pairs % batch.candidates != 0) {
    return Lacks(objective, absl::StrCat("problems of at least two candidates, not ", pairs,
                                         " pairs in problems of ", batch.candidates));
  }
  if (!objective.reads_teacher) return absl::OkStatus();
  const bool all_taught =
      batch.taught.defined() &&
      batch.taught.sizes() == at::IntArrayRef({pairs / batch.candidates, batch.candidates});
  return all_taught ? absl::OkStatus() : Lacks(objective, "a teacher's score of each candidate");
}

absl::Status CheckBatch(const Objective& objective, const BatchLossOptions& options,
                        const PairBatch& batch, const TrainableNetwork& learner,
                        const at::Tensor& log_scale) {
  const bool of_towers = IsOfTowers(objective, options);
  const bool has_it = of_towers ? learner.has_towers : learner.has_cross_encoder;
  if (!has_it) {
    return Lacks(objective, of_towers ? "a network that embeds" : "a network that scores pairs");
  }
  if (objective.wants_cosine && !learner.cosine) {
    return Lacks(objective, "embeddings that are compared by cosine, and the bundle's are not");
  }
  if (batch.texts.empty() || batch.images.empty()) return Lacks(objective, "texts and images");
  switch (objective.reads) {
    case ObjectiveReads::kScaledTowerRows:
      if (!log_scale.defined()) return Lacks(objective, "a scale that is learnt");
      [[fallthrough]];
    case ObjectiveReads::kTowerRows:
    case ObjectiveReads::kScoreMatrix:
      if (batch.images.size() < batch.texts.size()) {
        return Lacks(objective, "an image for each text");
      }
      return absl::OkStatus();
    case ObjectiveReads::kPredictions:
      if (!objective.reads_teacher) break;
      [[fallthrough]];
    case ObjectiveReads::kPairLogits:
      return CheckProblems(objective, batch);
  }
  return Lacks(objective, "predictions, which are no network's texts and images");
}

}  // namespace

absl::StatusOr<Loss> AddGradients(const Objective& objective, const BatchLossOptions& options,
                                  const PairBatch& batch, const TrainableNetwork& learner,
                                  const at::Tensor& log_scale) {
  RETURN_IF_ERROR(CheckBatch(objective, options, batch, learner, log_scale));
  if (IsOfTowers(objective, options)) {
    return OfTowers(objective, options, batch, learner, log_scale);
  }
  if (objective.reads == ObjectiveReads::kScoreMatrix) {
    return OfMatrix(objective, options, batch, learner);
  }
  return OfPairs(objective, options, batch, learner);
}

}  // namespace sightline
