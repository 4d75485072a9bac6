#include "common/scenes/tint.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/common/scenes/some_rasters.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Bytes = std::vector<uint8_t>;

std::array<int, 3> ColourAt(const RgbaPixels& raster, size_t pixel) {
  const uint8_t* at = &raster.rgba[4 * pixel];
  return {at[0], at[1], at[2]};
}

TEST_CASE("there are eight tints, in the benchmark's order") {
  std::vector<std::string> names;
  for (const Tint& tint : Tints()) names.emplace_back(tint.name);
  REQUIRE(names == std::vector<std::string>{"red", "orange", "yellow", "green", "blue", "purple",
                                            "pink", "brown"});
}

TEST_CASE("a silhouette is of the tint's colour, whether it was black, white or red") {
  for (const Tint& tint : Tints()) {
    for (const Rgb& plain : {Rgb{0, 0, 0}, Rgb{255, 255, 255}, Rgb{255, 0, 0}}) {
      const RgbaPixels tinted =
          Tinted(PlainRaster(3, 2, plain.red, plain.green, plain.blue, 77), tint);
      for (size_t i = 0; i < 6; ++i) {
        REQUIRE(ColourAt(tinted, i) ==
                std::array<int, 3>{tint.colour.red, tint.colour.green, tint.colour.blue});
        REQUIRE(tinted.rgba[4 * i + 3] == 77);
      }
    }
  }
}

TEST_CASE("what was darker stays darker, and nothing but luminance counts") {
  RgbaPixels raster;
  raster.width = 5;
  raster.height = 1;
  // Four greys, and a green of the luminance of the third one.
  raster.rgba = {10,  10,  10,  255, 90,  90,  90, 255, 130, 130,
                 130, 255, 240, 240, 240, 255, 21, 211, 0,   255};
  for (const Tint& tint : Tints()) {
    CAPTURE(std::string(tint.name));
    const RgbaPixels tinted = Tinted(raster, tint);
    for (size_t i = 0; i + 2 < 5; ++i) {
      const auto darker = ColourAt(tinted, i), lighter = ColourAt(tinted, i + 1);
      for (int c = 0; c < 3; ++c) REQUIRE(darker[c] <= lighter[c]);
      REQUIRE(darker != lighter);
    }
    REQUIRE(ColourAt(tinted, 4) == ColourAt(tinted, 2));
  }
}

TEST_CASE("transparent pixels do not move the mean") {
  RgbaPixels raster = PlainRaster(4, 1, 60, 60, 60, 255);
  for (const size_t pixel : {1, 2}) {
    std::fill_n(&raster.rgba[4 * pixel], 3, uint8_t{255});
    raster.rgba[4 * pixel + 3] = 0;
  }
  const Rgb colour = Tints()[0].colour;
  REQUIRE(ColourAt(Tinted(raster, Tints()[0]), 0) ==
          std::array<int, 3>{colour.red, colour.green, colour.blue});
}

// The darkest and the palest shade of a tint.
std::array<std::array<int, 3>, 3> ShadesOf(const Tint& tint) {
  RgbaPixels raster = PlainRaster(3, 1, 0, 0, 0, 255);
  std::fill_n(&raster.rgba[4], 3, uint8_t{128});
  std::fill_n(&raster.rgba[8], 3, uint8_t{255});
  const RgbaPixels tinted = Tinted(raster, tint);
  return {ColourAt(tinted, 0), ColourAt(tinted, 1), ColourAt(tinted, 2)};
}

TEST_CASE("no shade of a tint is the shade of another one") {
  for (const Tint& one : Tints()) {
    for (const Tint& other : Tints()) {
      if (one.name == other.name) continue;
      for (const auto& a : ShadesOf(one)) {
        for (const auto& b : ShadesOf(other)) {
          int distance = 0;
          for (int c = 0; c < 3; ++c) distance += std::abs(a[c] - b[c]);
          CAPTURE(std::string(one.name), std::string(other.name), distance);
          REQUIRE(distance > 20);
        }
      }
    }
  }
}

TEST_CASE("a tinted raster has the bytes that every machine gives it") {
  const RgbaPixels tinted = Tinted(SomeRaster(2, 1, 5), Tints()[4]);
  // Computed apart, by the formula in tint.h.
  REQUIRE(tinted.rgba == Bytes{32, 87, 214, 218, 26, 79, 202, 56});
}

}  // namespace
}  // namespace sightline
