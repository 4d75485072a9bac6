#include "common/training/masked_loss.h"

#include <ATen/ATen.h>

#include <utility>

#include "common/base/status_macros.h"
#include "common/models/network/row_dropout.h"
#include "common/training/item_keys.h"
#include "common/training/passes.h"

namespace sightline {
namespace {

bool PredictsRegions(const Objective& objective) {
  return objective.predicted == Predicted::kRegionFeatures ||
         objective.predicted == Predicted::kRegionClasses;
}

int64_t TargetCount(const Objective& objective, const MaskedPair& pair) {
  return static_cast<int64_t>(PredictsRegions(objective) ? pair.hidden.size()
                                                         : pair.targets.size());
}

// Some of a batch's pairs, computed at once, each with something that is predicted.
class Pass {
 public:
  Pass(const Objective& objective, const MaskedLossOptions& options,
       std::vector<const MaskedPair*> pairs, const MaskedNetwork& network, PretrainingHeads heads)
      : objective_(objective),
        options_(options),
        pairs_(std::move(pairs)),
        network_(network),
        heads_(std::move(heads)) {
    for (const MaskedPair* pair : pairs_) {
      texts_.emplace_back(pair->tokens);
      images_.push_back({&pair->image, pair->hidden});
    }
  }

  Predictions Predict() {
    const at::Tensor rows = TargetRows();
    switch (objective_.predicted) {
      case Predicted::kRegionFeatures:
        return {heads_->features().forward(rows, network_.region_weight()),
                TrueFeatures().to(rows.device())};
      case Predicted::kRegionClasses:
        return {heads_->classes().forward(rows), TrueClasses().to(rows.device())};
      case Predicted::kSceneTokens:
        return {heads_->tokens().forward(rows, network_.image_words()),
                TrueTokens().to(rows.device())};
      default:
        return {heads_->tokens().forward(rows, options_.word_table == WordTable::kText
                                                   ? network_.text_words()
                                                   : network_.image_words()),
                TrueTokens().to(rows.device())};
    }
  }

 private:
  // The last layer's rows of what is predicted, N x H, each with what it is given of the other
  // tower.
  at::Tensor TargetRows() {
    if (!network_.has_two_towers()) {
      const LastRows last = network_.PairRows(texts_, images_, heads_->hidden_feature());
      return last.At(TargetRowsOf(last));
    }
    const bool of_text = objective_.predicted == Predicted::kTokens;
    const LastRows own = of_text ? TextRows() : ImageRows();
    const at::Tensor rows = own.At(TargetRowsOf(own));
    if (options_.other_tower == GlobalVector::kNone) return rows;
    const LastRows other = of_text ? ImageRows() : TextRows();
    return WithOtherTower(rows, TargetItems(), other.At(other.text), options_.other_tower);
  }

  LastRows TextRows() const { return network_.TextRows(texts_); }
  LastRows ImageRows() const { return network_.ImageRows(images_, heads_->hidden_feature()); }

  // Row numbers of what is predicted, one pair after another.
  std::vector<int64_t> TargetRowsOf(const LastRows& last) const {
    const bool of_regions = PredictsRegions(objective_);
    const std::vector<int64_t>& begins = of_regions ? last.regions
                                         : objective_.predicted == Predicted::kSceneTokens
                                             ? last.ids
                                             : last.text;
    std::vector<int64_t> rows;
    for (size_t i = 0; i < pairs_.size(); ++i) {
      for (const int64_t place : of_regions ? pairs_[i]->hidden : pairs_[i]->places) {
        rows.push_back(begins[i] + place);
      }
      for (const int64_t place : pairs_[i]->tag_places) rows.push_back(last.ids[i] + place);
    }
    return rows;
  }

  // Whose they are.
  std::vector<int64_t> TargetItems() const {
    std::vector<int64_t> items;
    for (size_t i = 0; i < pairs_.size(); ++i) {
      items.resize(items.size() + TargetCount(objective_, *pairs_[i]), static_cast<int64_t>(i));
    }
    return items;
  }

  at::Tensor TrueTokens() const {
    std::vector<int64_t> tokens;
    for (const MaskedPair* pair : pairs_) {
      tokens.insert(tokens.end(), pair->targets.begin(), pair->targets.end());
    }
    return at::tensor(tokens, at::kLong);
  }

  at::Tensor TrueFeatures() const {
    return HiddenRows([](const MaskedPair& pair) -> const std::vector<float>& {
      return pair.image.regions.features;
    });
  }
  at::Tensor TrueClasses() const {
    return HiddenRows(
        [](const MaskedPair& pair) -> const std::vector<float>& { return pair.soft_labels; });
  }

  // Of what `numbers_of` a pair has for all of its regions: rows of those that are hidden.
  template <typename NumbersOf>
  at::Tensor HiddenRows(const NumbersOf& numbers_of) const {
    std::vector<float> rows;
    int64_t width = 1;
    for (const MaskedPair* pair : pairs_) {
      const std::vector<float>& numbers = numbers_of(*pair);
      width = static_cast<int64_t>(numbers.size()) / pair->image.regions.count;
      for (const int64_t region : pair->hidden) {
        const auto begin = numbers.begin() + region * width;
        rows.insert(rows.end(), begin, begin + width);
      }
    }
    return at::tensor(rows).view({-1, width});
  }

  const Objective& objective_;
  const MaskedLossOptions& options_;
  const std::vector<const MaskedPair*> pairs_;
  const MaskedNetwork& network_;
  PretrainingHeads heads_;
  std::vector<TokenSpan> texts_;
  std::vector<ShownImage> images_;
};

// Of this process's pairs, of a batch in which `all` are predicted.
absl::StatusOr<Loss> OfPasses(const Objective& objective, const MaskedLossOptions& options,
                              const std::vector<MaskedPair>& batch, int64_t all,
                              const MaskedNetwork& network, const PretrainingHeads& heads) {
  std::vector<int64_t> lengths;
  for (const MaskedPair& pair : batch) {
    lengths.push_back(static_cast<int64_t>(pair.tokens.size()) + pair.image.rows());
  }
  Loss sum;
  for (const std::vector<int64_t>& members : PassesOf(lengths, options.pass_rows)) {
    RETURN_IF_ERROR(options.call.Check("train"));
    std::vector<const MaskedPair*> pairs;
    std::vector<uint64_t> keys;
    int64_t count = 0;
    for (const int64_t member : members) {
      const MaskedPair& pair = batch[member];
      if (TargetCount(objective, pair) == 0) continue;
      pairs.push_back(&pair);
      keys.push_back(KeyOfPair(KeyOf(pair.tokens), KeyOf(pair.image)));
      count += TargetCount(objective, pair);
    }
    if (pairs.empty()) continue;
    const DropoutScope scope(options.seed, std::move(keys));
    Pass pass(objective, options, std::move(pairs), network, heads);
    ASSIGN_OR_RETURN(const Loss loss, ComputeLoss(objective, pass.Predict(), options.objective));
    sum = AddedUp(sum, loss, static_cast<double>(count) / static_cast<double>(all));
  }
  return sum;
}

}  // namespace

absl::StatusOr<Loss> AddMaskedGradients(const Objective& objective,
                                        const MaskedLossOptions& options,
                                        const std::vector<MaskedPair>& batch,
                                        const MaskedNetwork& network,
                                        const PretrainingHeads& heads) {
  int64_t all = 0;
  for (const MaskedPair& pair : batch) all += TargetCount(objective, pair);
  if (!IsAlone(options.world)) {
    ASSIGN_OR_RETURN(all, options.world->SumOf(all));
  }
  return SumOverWorld(OfPasses(objective, options, batch, all, network, heads), options.world);
}

}  // namespace sightline
