#include "common/scenes/raster.h"

#include <algorithm>
#include <vector>

#include "tests/common/scenes/some_rasters.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Bytes = std::vector<uint8_t>;

// The slow and obvious way: each pixel is split into `to` x `to` of its kind, and the means of
// blocks of whole ones are taken.
RgbaPixels ScaledSlowly(const RgbaPixels& raster, int width, int height) {
  RgbaPixels scaled;
  scaled.width = width;
  scaled.height = height;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      uint64_t alpha = 0, count = 0, colour[3] = {};
      for (int fine_y = y * raster.height; fine_y < (y + 1) * raster.height; ++fine_y) {
        for (int fine_x = x * raster.width; fine_x < (x + 1) * raster.width; ++fine_x) {
          const uint8_t* pixel =
              &raster.rgba[(size_t(fine_y / height) * raster.width + fine_x / width) * 4];
          ++count;
          alpha += pixel[3];
          for (int c = 0; c < 3; ++c) colour[c] += uint64_t{pixel[3]} * pixel[c];
        }
      }
      for (int c = 0; c < 3; ++c) {
        scaled.rgba.push_back(alpha == 0 ? 0 : (colour[c] + alpha / 2) / alpha);
      }
      scaled.rgba.push_back((alpha + count / 2) / count);
    }
  }
  return scaled;
}

TEST_CASE("a raster is cropped to what is not transparent") {
  RgbaPixels raster = PlainRaster(6, 4, 9, 9, 9, 0);
  REQUIRE(CropToOpaque(raster).rgba.empty());
  REQUIRE(CropToOpaque(raster).width == 0);

  raster.rgba[(1 * 6 + 2) * 4 + 3] = 1;  // column 2, row 1
  raster.rgba[(2 * 6 + 4) * 4 + 3] = 7;  // column 4, row 2
  const RgbaPixels cropped = CropToOpaque(raster);
  REQUIRE(cropped.width == 3);
  REQUIRE(cropped.height == 2);
  REQUIRE(cropped.rgba == Bytes{9, 9, 9, 1, 9, 9, 9, 0, 9, 9, 9, 0,  //
                                9, 9, 9, 0, 9, 9, 9, 0, 9, 9, 9, 7});
  REQUIRE(CropToOpaque(cropped).rgba == cropped.rgba);
}

TEST_CASE("scaling is the mean of what a pixel covers, smaller or larger, however it divides") {
  for (const int width : {1, 2, 7, 30, 61}) {
    for (const int height : {1, 5, 30, 44}) {
      const RgbaPixels raster = SomeRaster(width, height, width * 100 + height);
      for (const int side : {1, 2, 10, 28, 40}) {
        CAPTURE(width, height, side);
        const RgbaPixels scaled = ScaleToFit(raster, side);
        REQUIRE(std::max(scaled.width, scaled.height) == side);
        REQUIRE(scaled.rgba == ScaledSlowly(raster, scaled.width, scaled.height).rgba);
      }
    }
  }
}

TEST_CASE("the shorter side stays in proportion, and is never nothing") {
  REQUIRE(ScaleToFit(SomeRaster(100, 50, 1), 20).height == 10);
  REQUIRE(ScaleToFit(SomeRaster(50, 100, 1), 20).width == 10);
  REQUIRE(ScaleToFit(SomeRaster(100, 1, 1), 20).height == 1);
  const RgbaPixels same = SomeRaster(20, 11, 1);
  RgbaPixels expected = same;
  for (size_t i = 0; i < expected.rgba.size(); i += 4) {
    if (expected.rgba[i + 3] == 0)
      expected.rgba[i] = expected.rgba[i + 1] = expected.rgba[i + 2] = 0;
  }
  REQUIRE(ScaleToFit(same, 20).rgba == expected.rgba);
}

TEST_CASE("what is transparent lends no colour to its neighbours") {
  RgbaPixels raster = PlainRaster(2, 1, 200, 100, 50, 255);
  raster.rgba[4] = raster.rgba[5] = raster.rgba[6] = raster.rgba[7] = 0;
  REQUIRE(ScaleToFit(raster, 1).rgba == Bytes{200, 100, 50, 128});
}

TEST_CASE("a raster's name is of its shape and its pixels") {
  // printf '\2\0\0\0\1\0\0\0\1\2\3\4\5\6\7\10' | sha256sum
  RgbaPixels raster;
  raster.width = 2;
  raster.height = 1;
  raster.rgba = {1, 2, 3, 4, 5, 6, 7, 8};
  REQUIRE(RasterSha256(raster) ==
          "5edafcdc512a3bd9296c32e7db7bcbfbc5f83c87a1909702fa0f20a67f27341f");
  raster.width = 1;
  raster.height = 2;
  REQUIRE(RasterSha256(raster) !=
          "5edafcdc512a3bd9296c32e7db7bcbfbc5f83c87a1909702fa0f20a67f27341f");
}

}  // namespace
}  // namespace sightline
