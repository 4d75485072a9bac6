// Rasters for tests, made of numbers.
#ifndef SIGHTLINE_TESTS_COMMON_SCENES_SOME_RASTERS_H_
#define SIGHTLINE_TESTS_COMMON_SCENES_SOME_RASTERS_H_

#include <cstddef>
#include <cstdint>

#include "common/image/decode.h"
#include "common/scenes/drawing_set.h"

namespace sightline {

// Of colours and alphas of every kind, the same for the same `seed`.
inline RgbaPixels SomeRaster(int width, int height, uint32_t seed) {
  RgbaPixels raster;
  raster.width = width;
  raster.height = height;
  raster.rgba.resize(static_cast<size_t>(width) * height * 4);
  for (uint8_t& value : raster.rgba) {
    seed = seed * 1664525 + 1013904223;  // Numerical Recipes' generator
    value = static_cast<uint8_t>(seed >> 24);
  }
  return raster;
}

// One colour everywhere.
inline RgbaPixels PlainRaster(int width, int height, uint8_t red, uint8_t green, uint8_t blue,
                              uint8_t alpha) {
  RgbaPixels raster;
  raster.width = width;
  raster.height = height;
  for (int i = 0; i < width * height; ++i) {
    raster.rgba.insert(raster.rgba.end(), {red, green, blue, alpha});
  }
  return raster;
}

// Three drawings: wide, high and square, with sides of 20 and 33 pixels.
inline DrawingSet SomeDrawings() {
  DrawingSet drawings({20, 33});
  drawings.Add(SomeRaster(61, 17, 1));
  drawings.Add(SomeRaster(9, 40, 2));
  drawings.Add(SomeRaster(50, 50, 3));
  return drawings;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_SCENES_SOME_RASTERS_H_
