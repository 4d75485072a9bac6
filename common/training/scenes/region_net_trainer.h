// Trains the net of regions (region_net.h) on lessons (region_lessons.h).
//
// A step is a batch of pictures in any colour and some in tints, 12 crops each.  Its loss is the
// cross-entropy of what each crop teaches: of its noun or nothing, and with smaller weights of its
// tint and its size.  Most crops are turned, moved, scaled, mirrored and partly covered a little.
#ifndef SIGHTLINE_COMMON_TRAINING_SCENES_REGION_NET_TRAINER_H_
#define SIGHTLINE_COMMON_TRAINING_SCENES_REGION_NET_TRAINER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/log/progress.h"
#include "common/scenes/drawing_set.h"

namespace sightline {

struct RegionNetJob {
  const DrawingSet* drawings = nullptr;  // LockedDrawings() in the sides of scenes
  int64_t steps = 2400;
  int64_t coloured_pictures = 12;  // of a step, in any colour
  int64_t tinted_pictures = 2;
  double peak_rate = 3e-3;  // after a twentieth of the steps; then down along a half cosine to 0
  uint64_t seed = 1;
  int threads = 1;  // of LibTorch
};

// The weights of the folded net as a safetensors file of float16 numbers.  Equal jobs give equal
// bytes on one thread of CPUs of one kind.  Cancelled when the call is; InvalidArgument for
// drawings that are not those; Internal for a loss that is not a number any more.
absl::StatusOr<std::string> TrainRegionNet(const RegionNetJob& job, Progress* progress,
                                           const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_SCENES_REGION_NET_TRAINER_H_
