// What region features from files must pass, whatever the file.
#ifndef SIGHTLINE_COMMON_DATASET_REGION_SET_H_
#define SIGHTLINE_COMMON_DATASET_REGION_SET_H_

#include <cstdint>

#include "absl/status/status.h"
#include "common/image/image_input.h"

namespace sightline {

inline constexpr int kMaxRegionFeatureSize = 1 << 16;

// For before anything is read: InvalidArgument unless there is a region and `count` x
// `feature_size` floats have at most `max_bytes`.
absl::Status CheckRegionSizes(int64_t count, int64_t feature_size, int64_t max_bytes);

// InvalidArgument: sizes that contradict each other, a number that is not finite, a
// confidence outside [0, 1], or a box outside, for which boxes in pixels are blamed where
// they look it: they are never guessed at.  A hundredth beyond is let pass: half precision
// has 1.0005 for a box at the edge.
absl::Status CheckRegionSet(const RegionSet& regions);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_REGION_SET_H_
