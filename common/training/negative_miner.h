// Negatives that are mined again as a run goes: every so many steps the whole corpus is embedded
// anew, and of each caption and picture the nearest wrong ones are kept.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_NEGATIVE_MINER_H_
#define SIGHTLINE_COMMON_TRAINING_NEGATIVE_MINER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/training/learnt_pairs.h"
#include "common/training/nearest_wrong.h"
#include "common/training/recipe.h"
#include "common/training/world.h"

namespace sightline {

// The corpus of `pairs`, embedded by its network in evaluation mode, a part by each process of
// `world`, which all have the same corpus and network: what all find is the same to the bit.  What
// may be right (PairCorpus::MayBeRight) is no wrong one.  Errors as EmbedPictures and the world's.
// REQUIRES: a network with towers.
absl::StatusOr<NearestWrong> MineNearest(const LearntPairs& pairs, int64_t kept,
                                         TrainingWorld* world, const CallContext& call);

// What was mined last, and when.  It belongs to a run's checkpoint: the weights that it was made by
// are gone when the run is taken up.
class NegativeMiner {
 public:
  // `pairs` and `world` outlive the object; the former has read its captions.
  NegativeMiner(const LearntPairs* pairs, const MiningOptions& options, TrainingWorld* world);

  // InvalidArgument for a network without towers.
  absl::Status Check() const;

  // Nothing until MineIfDue was called, or a checkpoint taken up.
  const NearestWrong& nearest() const { return nearest_; }

  // Before step number `step`: mines if that is the first one or as many as `every` says have
  // passed.  What was mined before stays if it fails.  Errors as MineNearest.
  absl::Status MineIfDue(int64_t step, const CallContext& call);

  // Before which step that was last; -1 before the first time.
  int64_t mined_step() const { return mined_step_; }

  // A checkpoint's tensors, where they lie, int64.
  std::map<std::string, at::Tensor> State();
  // Whether what a checkpoint's tensors said can have been mined of this corpus by step `step`.
  bool CanBe(int64_t step) const;

 private:
  const LearntPairs& pairs_;
  const MiningOptions options_;
  TrainingWorld& world_;
  NearestWrong nearest_;
  int64_t mined_step_ = -1;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_NEGATIVE_MINER_H_
