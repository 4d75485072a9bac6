// A batch in passes that fit into memory.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_PASSES_H_
#define SIGHTLINE_COMMON_TRAINING_PASSES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/training/objectives/loss.h"
#include "common/training/world.h"

namespace sightline {

// Items of these lengths in passes of at most `pass_rows` rows, padding included, unless one item
// has more; 0: one pass.  Neighbours have like lengths, so that little is padding.
std::vector<std::vector<int64_t>> PassesOf(const std::vector<int64_t>& lengths, int64_t pass_rows);

// What the `share`-th part of a batch says of the whole, and what two parts say together, of which
// the first may be none at all.
Loss PartOf(const Loss& loss, double share);
Loss SumOf(const Loss& a, const Loss& b);

// The gradients of a pass whose loss counts as `share` of the batch's, added to those of the
// leaves, and what it says of the batch, without its graph, added to `sum`.
Loss AddedUp(const Loss& sum, const Loss& pass, double share);

// What the parts of all processes say together: of each what AddedUp has made of its passes, or
// nothing, if it has none of the batch; a loss of 0 if none has any.  `world` as IsAlone has it.
// All fail if that of one is an error, as TrainingWorld::Agree says; else errors as
// TrainingWorld's.
absl::StatusOr<Loss> SumOverWorld(const absl::StatusOr<Loss>& own, TrainingWorld* world);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_PASSES_H_
