#include "common/scenes/tint.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace sightline {
namespace {

constexpr Tint kTints[] = {
    {"red", {214, 24, 38}},    {"orange", {240, 130, 10}}, {"yellow", {240, 208, 20}},
    {"green", {32, 150, 54}},  {"blue", {28, 84, 214}},    {"purple", {128, 44, 170}},
    {"pink", {246, 120, 180}}, {"brown", {124, 74, 32}},
};

// Shades go from 0 to 255; the tint itself is in the middle.
constexpr int kMiddle = 128;
constexpr int kPalest = 255;
// The mean distance of luminance from its mean becomes this many shades, but contrast grows or
// shrinks by no more than these 256ths.
constexpr int64_t kMeanDistance = 56;
constexpr int64_t kLeastContrast = 128;
constexpr int64_t kMostContrast = 384;
// Hundredths of the tint in the darkest shade, and of white in the palest one.
constexpr int kDarkest = 45;
constexpr int kWhite = 60;

// Rec. 601, in thousandths.
int Luminance(const uint8_t* pixel) {
  return (299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2]) / 1000;
}

// How a raster's luminance becomes shades.
struct Contrast {
  int64_t mean = 0;
  int64_t gain = kMostContrast;  // in 256ths

  int ShadeOf(int luminance) const {
    const int64_t shade = kMiddle + (luminance - mean) * gain / 256;
    return static_cast<int>(std::clamp<int64_t>(shade, 0, kPalest));
  }
};

// By the pixels' alpha: what is transparent counts for nothing.
Contrast ContrastOf(const RgbaPixels& raster) {
  Contrast contrast;
  int64_t alpha = 0, sum = 0, distance = 0;
  for (size_t i = 0; i < raster.rgba.size(); i += 4) {
    alpha += raster.rgba[i + 3];
    sum += int64_t{Luminance(&raster.rgba[i])} * raster.rgba[i + 3];
  }
  if (alpha == 0) return contrast;
  contrast.mean = sum / alpha;
  for (size_t i = 0; i < raster.rgba.size(); i += 4) {
    distance += std::abs(Luminance(&raster.rgba[i]) - contrast.mean) * raster.rgba[i + 3];
  }
  contrast.gain = std::clamp(kMeanDistance * 256 / std::max<int64_t>(distance / alpha, 1),
                             kLeastContrast, kMostContrast);
  return contrast;
}

uint8_t ShadedChannel(int channel, int shade) {
  const int darkest = channel * kDarkest / 100;
  const int palest = channel + (255 - channel) * kWhite / 100;
  return static_cast<uint8_t>(shade < kMiddle ? darkest + (channel - darkest) * shade / kMiddle
                                              : channel + (palest - channel) * (shade - kMiddle) /
                                                              (kPalest - kMiddle));
}

}  // namespace

absl::Span<const Tint> Tints() {
  return kTints;
}

RgbaPixels Tinted(RgbaPixels raster, const Tint& tint) {
  const Contrast contrast = ContrastOf(raster);
  for (size_t i = 0; i < raster.rgba.size(); i += 4) {
    const int shade = contrast.ShadeOf(Luminance(&raster.rgba[i]));
    raster.rgba[i] = ShadedChannel(tint.colour.red, shade);
    raster.rgba[i + 1] = ShadedChannel(tint.colour.green, shade);
    raster.rgba[i + 2] = ShadedChannel(tint.colour.blue, shade);
  }
  return raster;
}

}  // namespace sightline
