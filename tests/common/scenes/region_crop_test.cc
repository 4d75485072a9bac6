#include "common/scenes/region_crop.h"

#include <algorithm>
#include <vector>

#include "tests/common/scenes/some_rasters.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Crop = std::vector<uint8_t>;

Pixels SomeCanvas() {
  const RgbaPixels raster = SomeRaster(kCanvasSide, kCanvasSide, 7);
  Pixels canvas;
  canvas.width = canvas.height = kCanvasSide;
  for (size_t i = 0; i < raster.rgba.size(); ++i) {
    if (i % 4 != 3) canvas.rgb.push_back(raster.rgba[i]);
  }
  return canvas;
}

Crop CropOf(const Pixels& canvas, const PixelBox& box) {
  Crop crop(kRegionBytes);
  CropRegion(canvas, box, crop.data());
  return crop;
}

// Every pixel of what is seen as 32 x 32 equal ones, of which each value is the mean of a whole
// number.
Crop SlowCropOf(const Pixels& canvas, const PixelBox& box) {
  const auto beyond = [](int length) { return std::max(length / 8, 1); };
  const int left = std::max(box.x - beyond(box.width), 0);
  const int top = std::max(box.y - beyond(box.height), 0);
  const int width = std::min(box.x + box.width + beyond(box.width), kCanvasSide) - left;
  const int height = std::min(box.y + box.height + beyond(box.height), kCanvasSide) - top;
  Crop crop;
  for (int c = 0; c < 3; ++c) {
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column) {
        uint64_t sum = 0;
        for (int y = row * height; y < (row + 1) * height; ++y) {
          for (int x = column * width; x < (column + 1) * width; ++x) {
            sum += canvas.rgb[((top + y / 32) * kCanvasSide + left + x / 32) * 3 + c];
          }
        }
        const uint64_t area = uint64_t(width) * height;
        crop.push_back(static_cast<uint8_t>((sum + area / 2) / area));
      }
    }
  }
  return crop;
}

TEST_CASE("a crop is the mean of what each value covers, of any box") {
  const Pixels canvas = SomeCanvas();
  for (const PixelBox& box :
       {PixelBox{40, 60, 28, 28}, PixelBox{100, 7, 54, 13}, PixelBox{0, 0, 5, 61},
        PixelBox{223, 223, 1, 1}, PixelBox{0, 120, 224, 90}, PixelBox{170, 180, 54, 44}}) {
    INFO(box.x << ", " << box.y << ": " << box.width << " x " << box.height);
    REQUIRE(CropOf(canvas, box) == SlowCropOf(canvas, box));
  }
}

TEST_CASE("an eighth around the box is seen, and nothing beyond") {
  Pixels canvas;
  canvas.width = canvas.height = kCanvasSide;
  canvas.rgb.assign(size_t{3} * kCanvasSide * kCanvasSide, 100);
  const PixelBox box = {100, 100, 32, 32};
  const auto paint = [&](int x, uint8_t value) {
    for (int y = 0; y < kCanvasSide; ++y) canvas.rgb[(y * kCanvasSide + x) * 3] = value;
  };
  paint(95, 255);
  REQUIRE(CropOf(canvas, box) == Crop(kRegionBytes, 100));
  paint(96, 255);
  REQUIRE(CropOf(canvas, box)[0] > 200);
}

}  // namespace
}  // namespace sightline
