// Pictures that are cut, damaged or lie about themselves: an error, never a crash, and
// no memory before the header was believed.
#include <sys/resource.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/image/decode.h"
#include "tests/common/image/encode.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

struct Sample {
  std::string name;
  std::string bytes;
};

PngSpec PaletteSpec() {
  PngSpec spec;
  spec.width = 11;
  spec.height = 6;
  spec.color_type = 3;
  spec.bit_depth = 4;
  spec.palette = {10, 20, 30, 200, 100, 0, 0, 0, 0, 90, 80, 70};
  spec.palette_alpha = {255, 0, 128};
  for (int y = 0; y < 6; ++y) spec.rows += std::string("\x01\x23\x01\x23\x01\x20", 6);
  return spec;
}

std::string SmallRgbaWebp() {
  std::vector<uint8_t> rgba;
  for (int i = 0; i < 9 * 7 * 4; ++i) rgba.push_back(static_cast<uint8_t>(i * 37));
  return EncodeWebpRgba(9, 7, rgba);
}

// Small, and of every code path.
std::vector<Sample> Samples() {
  const Pixels pixels = Gradient(12, 9);
  JpegSpec progressive;
  progressive.progressive = true;
  JpegSpec cmyk;
  cmyk.channels = 4;
  return {
      {"png", EncodePng(pixels)},
      {"png interlaced", EncodePng(pixels, true)},
      {"png palette", EncodePng(PaletteSpec())},
      {"jpeg", EncodeJpeg(pixels)},
      {"jpeg progressive", EncodeJpeg(12, 9, pixels.rgb, progressive)},
      {"jpeg cmyk", EncodeJpeg(9, 9, std::vector<uint8_t>(9 * 9 * 4, 77), cmyk)},
      {"jpeg sideways", WithOrientation(EncodeJpeg(pixels), 6, false)},
      {"webp lossless", EncodeWebpLossless(pixels)},
      {"webp lossy", EncodeWebpLossy(pixels)},
      {"webp alpha", SmallRgbaWebp()},
      {"webp animation", EncodeWebpAnimation(12, 9, {{0, 0, pixels}, {2, 2, Gradient(4, 4)}})},
  };
}

// The limits of a stranger's picture, small enough to damage thousands of them.
DecodeLimits SmallLimits() {
  DecodeLimits limits;
  limits.max_pixels = 1 << 20;
  return limits;
}

// Decodes from memory of exactly the picture's size, so that the address sanitizer sees
// the first byte read beyond it.
absl::StatusOr<Pixels> DecodeExactly(absl::string_view bytes) {
  const std::vector<char> copy(bytes.begin(), bytes.end());
  return DecodeImage(absl::string_view(copy.data(), copy.size()), SmallLimits());
}

void RequireRefused(absl::string_view bytes, const std::string& what) {
  const auto pixels = DecodeExactly(bytes);
  CAPTURE(what);
  REQUIRE_FALSE(pixels.ok());
  REQUIRE(pixels.status().code() == absl::StatusCode::kInvalidArgument);
  REQUIRE_FALSE(pixels.status().message().empty());
}

TEST_CASE("every truncation of every kind of picture is refused") {
  for (const Sample& sample : Samples()) {
    REQUIRE(DecodeExactly(sample.bytes).ok());
    for (size_t size = 0; size < sample.bytes.size(); ++size) {
      RequireRefused(sample.bytes.substr(0, size), absl::StrCat(sample.name, " cut to ", size));
    }
  }
}

TEST_CASE("flipped bits give an error or a picture, never a crash") {
  std::mt19937 random(20240612);
  int refused = 0;
  int decoded = 0;
  for (const Sample& sample : Samples()) {
    for (int round = 0; round < 3000; ++round) {
      std::string damaged = sample.bytes;
      for (int flips = 1 + random() % 8; flips > 0; --flips) {
        damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
      }
      const auto pixels = DecodeExactly(damaged);
      if (pixels.ok()) {
        ++decoded;
        REQUIRE(pixels->rgb.size() == size_t(pixels->width) * pixels->height * 3);
      } else {
        ++refused;
        CAPTURE(sample.name, round, pixels.status().ToString());
        REQUIRE(pixels.status().code() == absl::StatusCode::kInvalidArgument);
      }
    }
  }
  // Both happen, or the test tests nothing.
  REQUIRE(refused > 1000);
  REQUIRE(decoded > 1000);
}

TEST_CASE("any single flipped bit of a PNG's chunks is found by its checksums") {
  const std::string png = EncodePng(Gradient(5, 4));
  for (size_t bit = 8 * 8; bit < png.size() * 8; ++bit) {
    std::string damaged = png;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    RequireRefused(damaged, absl::StrCat("bit ", bit));
  }
}

std::string Ihdr(uint32_t width, uint32_t height) {
  std::string ihdr;
  for (const uint32_t side : {width, height}) {
    for (int shift = 24; shift >= 0; shift -= 8) ihdr.push_back(static_cast<char>(side >> shift));
  }
  return "\x89PNG\r\n\x1A\n" + PngChunk("IHDR", ihdr + std::string("\x08\x02\0\0\0", 5));
}

// `jpeg` with another size in its frame header.
std::string ResizedJpeg(std::string jpeg, int width, int height) {
  const size_t sof = jpeg.find("\xFF\xC0");
  REQUIRE(sof != std::string::npos);
  jpeg[sof + 5] = static_cast<char>(height >> 8);
  jpeg[sof + 6] = static_cast<char>(height);
  jpeg[sof + 7] = static_cast<char>(width >> 8);
  jpeg[sof + 8] = static_cast<char>(width);
  return jpeg;
}

// An animation's canvas, whose size is 24 bit.
std::string ResizedWebp(int width, int height) {
  std::string webp = EncodeWebpAnimation(8, 8, {{0, 0, Gradient(8, 8)}});
  for (int i = 0; i < 3; ++i) {
    webp[24 + i] = static_cast<char>((width - 1) >> (8 * i));
    webp[27 + i] = static_cast<char>((height - 1) >> (8 * i));
  }
  return webp;
}

TEST_CASE("a few bytes that claim to be huge are refused by their header") {
  const std::string pictures[] = {
      Ihdr(50'000, 50'000) + std::string(60, '\0'),
      ResizedJpeg(EncodeJpeg(Gradient(8, 8)), 50'000, 50'000),
      ResizedWebp(50'000, 50'000),
  };
  for (const std::string& picture : pictures) {
    const absl::Status status = ReadImageHeader(picture, DecodeLimits()).status();
    CAPTURE(status.ToString());
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(absl::StrContains(status.message(), "50000 x 50000"));
    REQUIRE(DecodeImage(picture, DecodeLimits()).status() == status);
  }
  // Narrow enough for the sides, too large in all.
  REQUIRE(absl::StrContains(DecodeImage(Ihdr(30'000, 2'001), DecodeLimits()).status().message(),
                            "60030000 pixels"));
}

TEST_CASE("a side of zero is refused") {
  RequireRefused(Ihdr(0, 5), "png width");
  RequireRefused(Ihdr(5, 0), "png height");
  RequireRefused(Ihdr(0x80000000u, 5), "png width with the sign bit");
  RequireRefused(ResizedJpeg(EncodeJpeg(Gradient(8, 8)), 0, 8), "jpeg width");
  RequireRefused(ResizedJpeg(EncodeJpeg(Gradient(8, 8)), 8, 0), "jpeg height");
}

int64_t PeakMemoryBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

TEST_CASE("a permitted size without a picture behind it costs no memory") {
  // Fifty-nine megapixels would be 177 MB.
  const std::string png = Ihdr(30'000, 1'990) + EncodePng(Gradient(4, 4)).substr(33);
  const std::string jpeg = ResizedJpeg(EncodeJpeg(Gradient(8, 8)), 30'000, 1'990);
  const int64_t before = PeakMemoryBytes();
  REQUIRE_FALSE(DecodeImage(png, DecodeLimits()).ok());
  REQUIRE_FALSE(DecodeImage(jpeg, DecodeLimits()).ok());
  REQUIRE(PeakMemoryBytes() - before < 60'000'000);
}

TEST_CASE("a PNG whose chunks unpack without end is refused") {
  PngSpec spec;
  spec.width = 1;
  spec.height = 1;
  spec.rows = std::string(3, '\0');
  const std::string png = EncodePng(spec);
  const std::string large(40 << 20, 'x');
  const std::string chunk = PngChunk("tEXt", std::string("k\0", 2) + large);
  DecodeLimits limits;
  limits.max_bytes = 64 << 20;
  const absl::Status status =
      DecodeImage(png.substr(0, 33) + chunk + png.substr(33), limits).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a JPEG of a scan per coefficient is decoded, one of endless scans is refused") {
  JpegSpec spec;
  spec.channels = 1;
  spec.scan_per_coefficient = true;
  const std::vector<uint8_t> samples(16 * 16, 120);
  REQUIRE(DecodeExactly(EncodeJpeg(16, 16, samples, spec)).ok());
  spec.refined = true;
  const absl::Status status = DecodeExactly(EncodeJpeg(16, 16, samples, spec)).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), "more than 100 scans"));
}

TEST_CASE("a JPEG with stray bytes before a marker is decoded as cameras meant it") {
  const std::string jpeg = EncodeJpeg(Gradient(8, 8));
  const size_t scan = jpeg.find("\xFF\xDA");
  REQUIRE(DecodeExactly(jpeg.substr(0, scan) + std::string(3, '\0') + jpeg.substr(scan)).ok());
}

}  // namespace
}  // namespace sightline
