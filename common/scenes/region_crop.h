// What the feature extractor sees of a picture: a box and a little around it, scaled to one size.
#ifndef SIGHTLINE_COMMON_SCENES_REGION_CROP_H_
#define SIGHTLINE_COMMON_SCENES_REGION_CROP_H_

#include <cstdint>

#include "common/image/image_input.h"
#include "common/scenes/composition.h"

namespace sightline {

inline constexpr int kRegionSide = 32;
inline constexpr int kRegionBytes = 3 * kRegionSide * kRegionSide;

// Writes kRegionBytes bytes to `crop`: red, green, blue, each kRegionSide rows of kRegionSide.
//
// Seen is `box` and an eighth of its length, at least a pixel, beyond each of its sides, as far as
// the canvas goes.  It is scaled to the square whatever its proportions, each value the mean of the
// area that it covers; by integers, the same on every CPU.  REQUIRES: a canvas of
// kCanvasSide x kCanvasSide, and a box of a pixel at least that lies on it.
void CropRegion(const Pixels& canvas, const PixelBox& box, uint8_t* crop);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_REGION_CROP_H_
