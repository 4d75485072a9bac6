#include "common/training/batch_loss.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/models/network/row_dropout.h"
#include "common/training/item_keys.h"
#include "common/training/learner_outputs.h"
#include "common/training/norm_statistics.h"
#include "common/training/passes.h"
#include "common/training/tower_side.h"

namespace sightline {
namespace {

using Numbers = std::vector<int64_t>;

int64_t RowsOf(const ItemShape& shape) {
  return shape.text_rows + shape.region_rows;
}

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

// Which part of all processes' problems this one's are; 0 where it has none.
absl::StatusOr<double> ShareOfProblems(const PairBatch& batch, TrainingWorld* world) {
  if (IsAlone(world)) return 1.0;
  const int64_t own = static_cast<int64_t>(batch.pairs.size()) / batch.candidates;
  ASSIGN_OR_RETURN(const int64_t all, world->SumOf(own));
  return all == 0 ? 0.0 : static_cast<double>(own) / static_cast<double>(all);
}

// The scale as a loss reads it that every process computes whole: one of them gets its gradient.
at::Tensor ScaleOf(const at::Tensor& log_scale, const TrainingWorld* world) {
  if (world == nullptr || world->is_first()) return log_scale;
  return log_scale.detach() + log_scale * 0;
}

TowerSide TextSide(const std::vector<TokenSpan>& texts, const BatchLossOptions& options,
                   const TrainableNetwork& learner) {
  const Network& network = *learner.network;
  Numbers lengths;
  for (const TokenSpan text : texts) {
    lengths.push_back(RowsOf(network.TextShape(static_cast<int64_t>(text.size()))));
  }
  return {lengths, options.pass_rows, options.seed, KeysOf(texts),
          [&learner, &texts](const Numbers& items) {
            return ComparedRows(learner, learner.network->EncodeTexts(Chosen(texts, items)));
          }};
}

TowerSide ImageSide(const std::vector<const ImageNumbers*>& images, const BatchLossOptions& options,
                    const TrainableNetwork& learner) {
  const Network& network = *learner.network;
  Numbers lengths;
  for (const ImageNumbers* image : images) lengths.push_back(RowsOf(network.ImageShape(*image)));
  return {lengths, options.pass_rows, options.seed, KeysOf(images),
          [&learner, &images](const Numbers& items) {
            return ComparedRows(learner, learner.network->EncodeImages(Chosen(images, items)));
          }};
}

using Sides = std::array<TowerSide*, 4>;

absl::Status EmbedAll(const Sides& sides, const CallContext& call) {
  for (TowerSide* side : sides) RETURN_IF_ERROR(side->Embed(call));
  return absl::OkStatus();
}

// Undefined where no process has any.
absl::StatusOr<at::Tensor> RowsIfAny(TrainingWorld* world, TowerSide* side) {
  ASSIGN_OR_RETURN(const at::Tensor rows, side->Rows(world));
  return rows.size(0) > 0 ? rows : at::Tensor();
}

// Of the rows of all processes of options.world; `share` is the loss's in the batch's.
absl::StatusOr<Loss> LossOfTowers(const Objective& objective, const BatchLossOptions& options,
                                  const PairBatch& batch, const TrainableNetwork& learner,
                                  const at::Tensor& log_scale, double share) {
  TrainingWorld* const world = options.world;
  TowerSide texts = TextSide(batch.texts, options, learner);
  TowerSide images = ImageSide(batch.images, options, learner);
  TowerSide hard_texts = TextSide(batch.hard_texts, options, learner);
  TowerSide hard_images = ImageSide(batch.hard_images, options, learner);
  const Sides sides = {&texts, &images, &hard_texts, &hard_images};
  RETURN_IF_ERROR(AgreeIn(world, EmbedAll(sides, options.call)));
  TowerRows rows;
  ASSIGN_OR_RETURN(rows.texts, texts.Rows(world));
  ASSIGN_OR_RETURN(rows.images, images.Rows(world));
  if (batch.has_hard_texts) {
    ASSIGN_OR_RETURN(rows.hard_texts, RowsIfAny(world, &hard_texts));
  }
  if (batch.has_hard_images) {
    ASSIGN_OR_RETURN(rows.hard_images, RowsIfAny(world, &hard_images));
  }
  rows.related = batch.related;
  ObjectiveInput input = rows;
  if (objective.reads == ObjectiveReads::kScaledTowerRows) {
    input = ScaledTowerRows{rows, ScaleOf(log_scale, world)};
  }
  if (objective.reads_teacher) input = Predictions{ProductsOf(rows, batch), batch.taught};
  ASSIGN_OR_RETURN(const Loss whole, ComputeLoss(objective, input, options.objective));
  const Loss loss = share == 1 ? whole : PartOf(whole, share);
  loss.value.backward();
  for (TowerSide* side : sides) RETURN_IF_ERROR(side->Backward(options.call));
  return WithoutGraph(loss);
}

absl::StatusOr<Loss> OfTowers(const Objective& objective, const BatchLossOptions& options,
                              const PairBatch& batch, const TrainableNetwork& learner,
                              const at::Tensor& log_scale) {
  if (!objective.reads_teacher) {
    return LossOfTowers(objective, options, batch, learner, log_scale, 1);
  }
  // Problems know nothing of each other.
  ASSIGN_OR_RETURN(const double share, ShareOfProblems(batch, options.world));
  BatchLossOptions alone = options;
  alone.world = nullptr;
  absl::StatusOr<Loss> own = Loss();
  if (share > 0) own = LossOfTowers(objective, alone, batch, learner, log_scale, share);
  return SumOverWorld(own, options.world);
}

// The scores of some texts with every image, as many rows.
absl::StatusOr<at::Tensor> ScoreRows(const PairBatch& batch, const WorldPart& own,
                                     const TrainableNetwork& learner, const PreparedItems& items,
                                     const BatchLossOptions& options) {
  std::vector<at::Tensor> scores;
  for (int64_t i = own.begin; i < own.end; ++i) {
    RETURN_IF_ERROR(options.call.Check("train"));
    std::vector<NetworkPair> pairs;
    std::vector<uint64_t> keys;
    for (size_t k = 0; k < items.images.size(); ++k) {
      const FeatureRows& image = items.images[k];
      pairs.push_back({batch.texts[i], &items.texts[i], {image.begin(), image.end()}});
      keys.push_back(items.KeyOfPair(i, static_cast<int64_t>(k)));
    }
    const DropoutScope scope(options.seed, std::move(keys));
    scores.push_back(MatchProbabilities(learner, learner.network->ScorePairs(pairs)));
  }
  return scores.empty() ? at::empty({0, 0}) : at::stack(scores);
}

// Every text with every image.
absl::StatusOr<Loss> OfMatrix(const Objective& objective, const BatchLossOptions& options,
                              const PairBatch& batch, const TrainableNetwork& learner) {
  const PreparedItems items =
      PreparedForPairs(*learner.network, batch.texts, batch.images, options.seed);
  const auto loss_of = [&](const at::Tensor& scores) -> absl::StatusOr<Loss> {
    ASSIGN_OR_RETURN(const Loss loss,
                     ComputeLoss(objective, BatchScores{scores, batch.related}, options.objective));
    loss.value.backward();
    return WithoutGraph(loss);
  };
  const auto count = static_cast<int64_t>(items.texts.size());
  if (IsAlone(options.world)) {
    ASSIGN_OR_RETURN(const at::Tensor scores,
                     ScoreRows(batch, {0, count}, learner, items, options));
    return loss_of(scores);
  }
  TrainingWorld& world = *options.world;
  const WorldPart own = world.PartOf(count);
  const at::Tensor before = StatisticsOf(learner);
  const auto scores = ScoreRows(batch, own, learner, items, options);
  RETURN_IF_ERROR(world.Agree(scores.status()));
  ASSIGN_OR_RETURN(const GatheredRows all, world.GatherRows(*scores));
  const at::Tensor leaf = all.rows.set_requires_grad(true);
  ASSIGN_OR_RETURN(const Loss loss, loss_of(leaf));
  if (own.count() > 0) scores->backward(leaf.grad().narrow(0, own.begin, own.count()));
  // Behind the backward pass, which may read them.
  if (learner.module->is_training()) {
    RETURN_IF_ERROR(MoveByAll(before, own, count, learner, &world));
  }
  return loss;
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

// Of this process's problems, whose share in all is this.
absl::StatusOr<Loss> LossOfPairs(const Objective& objective, const BatchLossOptions& options,
                                 const PairBatch& batch, const TrainableNetwork& learner,
                                 double share_of_all) {
  const Network& network = *learner.network;
  PreparedItems items = PreparedForPairs(network, batch.texts, batch.images, options.seed);
  const Leaves<FeatureRows> images(std::move(items.images));
  const Leaves<PreparedText> texts(std::move(items.texts));
  const int64_t problems = static_cast<int64_t>(batch.pairs.size()) / batch.candidates;
  Numbers lengths(problems, 0);
  for (size_t i = 0; i < batch.pairs.size(); ++i) {
    const auto [text, image] = batch.pairs[i];
    int64_t& length = lengths[i / batch.candidates];
    length = std::max<int64_t>(length, batch.texts[text].size() + batch.images[image]->rows());
  }
  for (int64_t& length : lengths) length *= batch.candidates;

  Loss sum;
  for (const Numbers& pass : PassesOf(lengths, options.pass_rows)) {
    RETURN_IF_ERROR(options.call.Check("train"));
    std::vector<NetworkPair> pairs;
    std::vector<uint64_t> keys;
    for (const int64_t problem : pass) {
      for (int64_t i = problem * batch.candidates; i < (problem + 1) * batch.candidates; ++i) {
        const auto [text, image] = batch.pairs[i];
        pairs.push_back(
            {batch.texts[text], &texts[text], {images[image].begin(), images[image].end()}});
        keys.push_back(items.KeyOfPair(text, image));
      }
    }
    const DropoutScope scope(options.seed, std::move(keys));
    const at::Tensor heads = PairLogitsOf(learner, network.ScorePairs(pairs));
    ASSIGN_OR_RETURN(const Loss loss, ComputeLoss(objective, InputOf(objective, batch, pass, heads),
                                                  options.objective));
    const double share = static_cast<double>(pass.size()) / static_cast<double>(problems);
    sum = AddedUp(sum, loss, share * share_of_all);
  }
  images.Backward();
  texts.Backward();
  return sum;
}

absl::StatusOr<Loss> OfPairs(const Objective& objective, const BatchLossOptions& options,
                             const PairBatch& batch, const TrainableNetwork& learner) {
  ASSIGN_OR_RETURN(const double share, ShareOfProblems(batch, options.world));
  absl::StatusOr<Loss> own = Loss();
  if (share > 0) own = LossOfPairs(objective, options, batch, learner, share);
  return SumOverWorld(own, options.world);
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

// Of several processes one may have none.
absl::Status CheckProblems(const Objective& objective, const PairBatch& batch, bool alone) {
  const auto pairs = static_cast<int64_t>(batch.pairs.size());
  if (batch.candidates < 2 || (pairs == 0 && alone) || pairs % batch.candidates != 0) {
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
  const bool alone = IsAlone(options.world);
  if (!alone && NormsByBatch(learner) && objective.reads != ObjectiveReads::kScoreMatrix) {
    return Lacks(objective,
                 "one process for a network that norms by what it computes together, as this one "
                 "does; start one, or take matrix_hinge, which each process sees whole");
  }
  if (alone && (batch.texts.empty() || batch.images.empty())) {
    return Lacks(objective, "texts and images");
  }
  switch (objective.reads) {
    case ObjectiveReads::kScaledTowerRows:
      if (!log_scale.defined()) return Lacks(objective, "a scale that is learnt");
      [[fallthrough]];
    case ObjectiveReads::kTowerRows:
    case ObjectiveReads::kScoreMatrix:
      if (alone && batch.images.size() < batch.texts.size()) {
        return Lacks(objective, "an image for each text");
      }
      return absl::OkStatus();
    case ObjectiveReads::kPredictions:
      if (!objective.reads_teacher) break;
      [[fallthrough]];
    case ObjectiveReads::kPairLogits:
      return CheckProblems(objective, batch, alone);
  }
  return Lacks(objective, "predictions, which are no network's texts and images");
}

}  // namespace

absl::StatusOr<Loss> AddGradients(const Objective& objective, const BatchLossOptions& options,
                                  const PairBatch& batch, const TrainableNetwork& learner,
                                  const at::Tensor& log_scale) {
  RETURN_IF_ERROR(CheckBatch(objective, options, batch, learner, log_scale));
  if (objective.reads == ObjectiveReads::kScoreMatrix) {
    return OfMatrix(objective, options, batch, learner);
  }
  if (IsOfTowers(objective, options)) {
    return OfTowers(objective, options, batch, learner, log_scale);
  }
  return OfPairs(objective, options, batch, learner);
}

}  // namespace sightline
