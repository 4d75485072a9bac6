#include "common/models/network/pictures.h"

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "tests/common/models/tiny_model.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using bundle::v1::PixelSpec;

// Of `side` pixels, on a scale of 0 to 255.
PixelSpec Spec(PixelSpec::Fit fit, int side = 24) {
  PixelSpec spec;
  spec.set_image_size(side);
  spec.set_fit(fit);
  spec.set_filter(PixelSpec::BICUBIC);
  for (int channel = 0; channel < 3; ++channel) {
    spec.add_mean(0);
    spec.add_standard_deviation(1 / 255.0f);
  }
  return spec;
}

template <typename F>
Pixels Drawn(int width, int height, const F& value) {
  Pixels pixels{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) pixels.rgb.push_back(static_cast<uint8_t>(value(x, y)));
    }
  }
  return pixels;
}

float At(const at::Tensor& picture, int x, int y) {
  return picture[1][y][x].item<float>();
}

TEST_CASE("of a picture whose shorter side fits, the middle is cut out, halves to even") {
  // Left edges that Python's round() gives for a width of 24 + extra.
  for (const auto& [extra, left] : std::vector<std::pair<int, int>>{
           {0, 0}, {1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 2}, {6, 3}, {7, 4}, {40, 20}}) {
    const at::Tensor wide =
        ScaledPicture(Drawn(24 + extra, 24, [](int x, int) { return x; }), Spec(PixelSpec::CROP));
    REQUIRE(wide.sizes() == at::IntArrayRef({3, 24, 24}));
    REQUIRE(At(wide, 0, 7) == Approx(left).margin(1e-3));
    REQUIRE(At(wide, 23, 7) == Approx(left + 23).margin(1e-3));
    const at::Tensor tall =
        ScaledPicture(Drawn(24, 24 + extra, [](int, int y) { return y; }), Spec(PixelSpec::CROP));
    REQUIRE(at::equal(tall, wide.transpose(1, 2)));
  }
}

TEST_CASE("numbers are whole before they are normalised") {
  const at::Tensor picture = ScaledPicture(RandomPixels(61, 47, 5), Spec(PixelSpec::CROP));
  REQUIRE((picture - picture.round()).abs().max().item<float>() < 1e-3);
  REQUIRE(picture.min().item<float>() >= 0);
  REQUIRE(picture.max().item<float>() <= 255.001f);
  PixelSpec spec = Spec(PixelSpec::CROP);
  for (int channel = 0; channel < 3; ++channel) {
    spec.set_mean(channel, 0.25f * channel);
    spec.set_standard_deviation(channel, 0.5f + channel);
  }
  const at::Tensor normal = ScaledPicture(RandomPixels(61, 47, 5), spec);
  for (int c = 0; c < 3; ++c) {
    REQUIRE(normal[c][3][4].item<float>() ==
            Approx((picture[c][3][4].item<float>() / 255 - 0.25 * c) / (0.5 + c)).margin(1e-5));
  }
}

TEST_CASE("a stretched picture is all there") {
  for (const PixelSpec::Filter filter : {PixelSpec::BILINEAR, PixelSpec::BICUBIC}) {
    PixelSpec spec = Spec(PixelSpec::STRETCH);
    spec.set_filter(filter);
    const at::Tensor halves =
        ScaledPicture(Drawn(200, 50, [](int x, int) { return x < 100 ? 10 : 200; }), spec);
    REQUIRE(At(halves, 0, 0) == Approx(10));
    REQUIRE(At(halves, 9, 23) == Approx(10));
    REQUIRE(At(halves, 14, 0) == Approx(200));
    REQUIRE(At(halves, 23, 23) == Approx(200));
  }
}

TEST_CASE("a cropped picture keeps its proportions, whatever its size") {
  // A ramp of 255 over the longer side, which is twice the shorter one; right to a pixel, as
  // shrinking rounds sizes.
  for (const int scale : {5, 12, 48, 100, 333}) {
    const at::Tensor picture =
        ScaledPicture(Drawn(2 * scale, scale, [&](int x, int) { return 255 * x / (2 * scale); }),
                      Spec(PixelSpec::CROP));
    CAPTURE(scale);
    REQUIRE(At(picture, 0, 5) == Approx(255 * 0.26).margin(255.0 / scale + 255.0 / 48));
    REQUIRE(At(picture, 23, 5) == Approx(255 * 0.74).margin(255.0 / scale + 255.0 / 48));
  }
}

TEST_CASE("of a very long picture the middle is looked at, without resizing the rest") {
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{
           {30000, 1}, {1, 30000}, {29999, 2}, {3, 20000}, {1, 1}, {1, 2}}) {
    const int longer = std::max(width, height);
    const auto value = [&](int x, int y) {
      return std::abs(2 * (x + y) + 1 - longer) < 8 ? 77 : 0;
    };
    const at::Tensor picture = ScaledPicture(Drawn(width, height, value), Spec(PixelSpec::CROP));
    REQUIRE(picture.sizes() == at::IntArrayRef({3, 24, 24}));
    REQUIRE(At(picture, 12, 12) == Approx(77));
  }
}

TEST_CASE("cutting off far ends changes nothing in the middle") {
  // 71 and 72 pixels wide: as far as three times the height, and beyond.
  const auto value = [](int x, int y) { return (x * x + 3 * y) % 251; };
  const at::Tensor whole = ScaledPicture(Drawn(72, 24, value), Spec(PixelSpec::CROP, 30));
  const at::Tensor longer =
      ScaledPicture(Drawn(172, 24, [&](int x, int y) { return x < 50 ? 0 : value(x - 50, y); }),
                    Spec(PixelSpec::CROP, 30));
  REQUIRE(at::equal(whole, longer));
}

TEST_CASE("reducing a picture first changes nothing, and reducing it twice neither") {
  for (const auto& [width, height] :
       std::vector<std::pair<int, int>>{{24, 24}, {200, 150}, {997, 3}, {501, 499}, {1200, 90}}) {
    const Pixels pixels = RandomPixels(width, height, 9);
    const Pixels once = ReduceForScaling(pixels, 24);
    REQUIRE(std::min(once.width, once.height) < 4 * 24);
    REQUIRE(ReduceForScaling(once, 24).rgb == once.rgb);
    for (const PixelSpec::Fit fit : {PixelSpec::CROP, PixelSpec::STRETCH}) {
      REQUIRE(at::equal(ScaledPicture(pixels, Spec(fit)), ScaledPicture(once, Spec(fit))));
    }
  }
}

}  // namespace
}  // namespace sightline
