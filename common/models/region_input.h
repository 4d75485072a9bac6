// Regions on their way into a network: checked, cut, and with their boxes as numbers.
#ifndef SIGHTLINE_COMMON_MODELS_REGION_INPUT_H_
#define SIGHTLINE_COMMON_MODELS_REGION_INPUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/image/image_input.h"

namespace sightline {

// Numbers that OSCAR appends to a region's feature: x1/W, y1/H, x2/W, y2/H, w/W, h/H.
inline constexpr int kOscarBoxNumbers = 6;

// The first `max_count` regions as rows of `row_size` floats, row after row.  Features
// of that width are taken as they are, their boxes included; narrower ones by six get
// the six numbers from `regions.boxes`.
//
// InvalidArgument: no regions, another width, sizes that contradict each other, a number
// that is not finite, or a box outside [0, 1] (boxes in pixels are refused, not guessed).
absl::StatusOr<std::vector<float>> OscarRegionRows(const RegionSet& regions, int row_size,
                                                   int64_t max_count);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_REGION_INPUT_H_
