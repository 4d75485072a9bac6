// What whole pictures decode to.  Damaged ones: decode_damage_test.cc.
#include "common/image/decode.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/image/encode.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

Pixels Decode(absl::string_view bytes) {
  const auto pixels = DecodeImage(bytes, DecodeLimits());
  INFO(pixels.status().ToString());
  REQUIRE(pixels.ok());
  REQUIRE(pixels->rgb.size() == size_t(pixels->width) * pixels->height * 3);
  return *pixels;
}

// The largest difference of any channel of any pixel; of pictures of one size.
int Distance(const Pixels& a, const Pixels& b) {
  REQUIRE(a.width == b.width);
  REQUIRE(a.height == b.height);
  int distance = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i) {
    distance = std::max(distance, std::abs(a.rgb[i] - b.rgb[i]));
  }
  return distance;
}

std::vector<uint8_t> PixelAt(const Pixels& pixels, int x, int y) {
  const auto at = pixels.rgb.begin() + (size_t(y) * pixels.width + x) * 3;
  return std::vector<uint8_t>(at, at + 3);
}

using Rgb = std::vector<uint8_t>;

TEST_CASE("an RGB PNG decodes to its pixels, interlaced or not, of any size") {
  for (const bool interlaced : {false, true}) {
    for (const int width : {1, 2, 3, 5, 8, 9, 33}) {
      for (const int height : {1, 2, 4, 7, 8, 17}) {
        CAPTURE(interlaced, width, height);
        const Pixels original = Gradient(width, height);
        REQUIRE(Distance(Decode(EncodePng(original, interlaced)), original) == 0);
      }
    }
  }
}

TEST_CASE("a PNG is had with its transparency, interlaced or not; other formats are refused") {
  PngSpec spec;
  spec.width = 5;
  spec.height = 3;
  spec.color_type = 6;
  for (int i = 0; i < 5 * 3 * 4; ++i) spec.rows += static_cast<char>(7 * i);
  const auto plain = DecodeRgbaPng(EncodePng(spec), DecodeLimits());
  REQUIRE(plain.ok());
  REQUIRE(std::string(plain->rgba.begin(), plain->rgba.end()) == spec.rows);
  REQUIRE(plain->width == 5);
  REQUIRE(plain->height == 3);

  const Pixels opaque = Gradient(9, 7);
  for (const bool interlaced : {false, true}) {
    const auto rgba = DecodeRgbaPng(EncodePng(opaque, interlaced), DecodeLimits());
    REQUIRE(rgba.ok());
    REQUIRE(rgba->rgba.size() == 9 * 7 * 4);
    for (size_t i = 0; i < 9 * 7; ++i) {
      REQUIRE(rgba->rgba[4 * i + 3] == 255);
      REQUIRE(std::equal(&opaque.rgb[3 * i], &opaque.rgb[3 * i] + 3, &rgba->rgba[4 * i]));
    }
  }
  const auto jpeg = DecodeRgbaPng(EncodeJpeg(opaque), DecodeLimits());
  REQUIRE(absl::IsInvalidArgument(jpeg.status()));
  DecodeLimits small;
  small.max_pixels = 14;
  REQUIRE(absl::IsInvalidArgument(DecodeRgbaPng(EncodePng(spec), small).status()));
}

TEST_CASE("a PNG of 16 bits keeps the upper eight") {
  PngSpec spec;
  spec.width = 2;
  spec.height = 1;
  spec.bit_depth = 16;
  spec.rows = std::string("\x12\xFF\x80\x00\x00\xFE\xFF\xFF\x01\x02\x7F\x80", 12);
  const Pixels pixels = Decode(EncodePng(spec));
  REQUIRE(pixels.rgb == Rgb{0x12, 0x80, 0x00, 0xFF, 0x01, 0x7F});
}

TEST_CASE("greys of every depth become equal channels, black to white") {
  for (const int depth : {1, 2, 4, 8, 16}) {
    CAPTURE(depth);
    PngSpec spec;
    spec.width = 2;
    spec.height = 1;
    spec.color_type = 0;
    spec.bit_depth = depth;
    // Black, then white.
    spec.rows = depth == 1   ? std::string("\x40")
                : depth == 2 ? std::string("\x30")
                : depth == 4 ? std::string("\x0F")
                : depth == 8 ? std::string("\x00\xFF", 2)
                             : std::string("\x00\x00\xFF\xFF", 4);
    REQUIRE(Decode(EncodePng(spec)).rgb == Rgb{0, 0, 0, 255, 255, 255});
  }
}

TEST_CASE("a palette with transparency is composed on white") {
  for (const bool interlaced : {false, true}) {
    PngSpec spec;
    spec.width = 4;
    spec.height = 1;
    spec.color_type = 3;
    spec.bit_depth = 2;
    spec.interlaced = interlaced;
    spec.palette = {10, 20, 30, 200, 100, 0, 0, 0, 0, 90, 80, 70};
    spec.palette_alpha = {255, 0, 128};  // the fourth is opaque by being left out
    spec.rows = "\x1B";                  // 0 1 2 3
    const Pixels pixels = Decode(EncodePng(spec));
    REQUIRE(PixelAt(pixels, 0, 0) == Rgb{10, 20, 30});
    REQUIRE(PixelAt(pixels, 1, 0) == Rgb{255, 255, 255});
    REQUIRE(PixelAt(pixels, 2, 0) == Rgb{127, 127, 127});
    REQUIRE(PixelAt(pixels, 3, 0) == Rgb{90, 80, 70});
  }
}

TEST_CASE("alpha channels of PNG are composed on white") {
  PngSpec grey;
  grey.width = 3;
  grey.height = 1;
  grey.color_type = 4;
  grey.rows = std::string("\x40\xFF\x40\x00\x00\x80", 6);
  REQUIRE(Decode(EncodePng(grey)).rgb == Rgb{64, 64, 64, 255, 255, 255, 127, 127, 127});

  PngSpec rgba;
  rgba.width = 2;
  rgba.height = 1;
  rgba.color_type = 6;
  rgba.bit_depth = 16;
  rgba.rows = std::string("\x64\0\xC8\0\x00\0\x80\0\x01\0\x02\0\x03\0\xFF\xFF", 16);
  // 255 - (255 - c) * 128 / 255
  REQUIRE(Decode(EncodePng(rgba)).rgb == Rgb{177, 227, 127, 1, 2, 3});
}

TEST_CASE("a JPEG decodes to its pixels, baseline or progressive") {
  for (const bool progressive : {false, true}) {
    for (const int width : {1, 7, 8, 40}) {
      CAPTURE(progressive, width);
      const Pixels original = Gradient(width, 19);
      JpegSpec spec;
      spec.progressive = progressive;
      const Pixels decoded = Decode(EncodeJpeg(width, 19, original.rgb, spec));
      REQUIRE(Distance(decoded, original) <= 3);
    }
  }
}

TEST_CASE("a grey JPEG has equal channels") {
  JpegSpec spec;
  spec.channels = 1;
  const Pixels decoded = Decode(EncodeJpeg(2, 2, {0, 255, 255, 0}, spec));
  for (size_t i = 0; i < decoded.rgb.size(); i += 3) {
    REQUIRE(decoded.rgb[i] == decoded.rgb[i + 1]);
    REQUIRE(decoded.rgb[i] == decoded.rgb[i + 2]);
  }
  REQUIRE(decoded.rgb[0] <= 3);
  REQUIRE(decoded.rgb[3] >= 252);
}

TEST_CASE("a CMYK JPEG is printed on white paper") {
  // Adobe's way round: 255 is no ink.
  const std::vector<std::pair<std::vector<uint8_t>, Rgb>> cases = {
      {{255, 255, 255, 255}, {255, 255, 255}},
      {{255, 255, 255, 0}, {0, 0, 0}},
      {{0, 255, 255, 255}, {0, 255, 255}},
      {{200, 100, 50, 128}, {100, 50, 25}},
  };
  JpegSpec spec;
  spec.channels = 4;
  for (const auto& [ink, rgb] : cases) {
    std::vector<uint8_t> samples;
    for (int i = 0; i < 9 * 9; ++i) samples.insert(samples.end(), ink.begin(), ink.end());
    const Pixels pixels = Decode(EncodeJpeg(9, 9, samples, spec));
    CAPTURE(rgb, PixelAt(pixels, 4, 4));
    for (int c = 0; c < 3; ++c) {
      REQUIRE(std::abs(PixelAt(pixels, 4, 4)[c] - rgb[c]) <= 2);
    }
  }
}

TEST_CASE("a photograph is turned upright, and its header says so") {
  const Pixels original = Gradient(24, 16);
  const std::string plain = EncodeJpeg(original);
  const Pixels stored = Decode(plain);
  for (const bool big_endian : {false, true}) {
    const std::string sideways = WithOrientation(plain, 6, big_endian);
    const ImageHeader header = ReadImageHeader(sideways, DecodeLimits()).value();
    REQUIRE(header.width == 16);
    REQUIRE(header.height == 24);
    const Pixels upright = Decode(sideways);
    REQUIRE(upright.width == 16);
    // A quarter turn clockwise: the lower left corner comes to the upper left.
    REQUIRE(PixelAt(upright, 0, 0) == PixelAt(stored, 0, 15));
    REQUIRE(PixelAt(upright, 15, 0) == PixelAt(stored, 0, 0));
    REQUIRE(PixelAt(upright, 15, 23) == PixelAt(stored, 23, 0));
    REQUIRE(Decode(WithOrientation(plain, 1, big_endian)).rgb == stored.rgb);
  }
}

TEST_CASE("bytes after a JPEG's end do not matter") {
  const std::string jpeg = EncodeJpeg(Gradient(9, 9));
  REQUIRE(Decode(jpeg + "a motion photo's video").rgb == Decode(jpeg).rgb);
}

TEST_CASE("a WebP decodes to its pixels") {
  const Pixels original = Gradient(37, 21);
  REQUIRE(Distance(Decode(EncodeWebpLossless(original)), original) == 0);
  // Lossy WebP halves the chroma.
  REQUIRE(Distance(Decode(EncodeWebpLossy(original)), original) <= 12);
}

TEST_CASE("a WebP's alpha is composed on white") {
  const Pixels pixels = Decode(EncodeWebpRgba(3, 1, {10, 20, 30, 255, 9, 9, 9, 0, 0, 0, 0, 128}));
  REQUIRE(pixels.rgb == Rgb{10, 20, 30, 255, 255, 255, 127, 127, 127});
}

TEST_CASE("of an animated WebP the first frame is seen, where it lies") {
  const Pixels whole = Gradient(10, 8);
  const Pixels part = Gradient(4, 3);
  const std::string full = EncodeWebpAnimation(10, 8, {{0, 0, whole}, {0, 0, part}});
  REQUIRE(Distance(Decode(full), whole) == 0);

  const Pixels pixels = Decode(EncodeWebpAnimation(10, 8, {{2, 4, part}, {0, 0, whole}}));
  REQUIRE(pixels.width == 10);
  REQUIRE(pixels.height == 8);
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 10; ++x) {
      const bool inside = x >= 2 && x < 6 && y >= 4 && y < 7;
      CAPTURE(x, y);
      REQUIRE(PixelAt(pixels, x, y) == (inside ? PixelAt(part, x - 2, y - 4) : Rgb{255, 255, 255}));
    }
  }
}

TEST_CASE("the header says what decoding gives") {
  const Pixels pixels = Gradient(13, 5);
  const struct {
    std::string bytes;
    ImageFormat format;
  } cases[] = {{EncodePng(pixels), ImageFormat::kPng},
               {EncodeJpeg(pixels), ImageFormat::kJpeg},
               {EncodeWebpLossy(pixels), ImageFormat::kWebp},
               {EncodeWebpAnimation(13, 5, {{0, 0, pixels}}), ImageFormat::kWebp}};
  for (const auto& c : cases) {
    const ImageHeader header = ReadImageHeader(c.bytes, DecodeLimits()).value();
    REQUIRE(header.format == c.format);
    REQUIRE(header.width == 13);
    REQUIRE(header.height == 5);
  }
}

TEST_CASE("each limit holds exactly, for each format") {
  const Pixels pixels = Gradient(13, 5);
  for (const std::string& bytes :
       {EncodePng(pixels), EncodeJpeg(pixels), EncodeWebpLossy(pixels), EncodeWebpLossless(pixels),
        WithOrientation(EncodeJpeg(pixels), 8, true)}) {
    DecodeLimits exact;
    exact.max_bytes = static_cast<int64_t>(bytes.size());
    exact.max_pixels = 13 * 5;
    exact.max_side = 13;
    REQUIRE(DecodeImage(bytes, exact).ok());

    const auto refusal = [&bytes](const DecodeLimits& limits) {
      const absl::Status status = DecodeImage(bytes, limits).status();
      REQUIRE(status == ReadImageHeader(bytes, limits).status());
      REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
      return std::string(status.message());
    };
    DecodeLimits limits = exact;
    --limits.max_bytes;
    REQUIRE(absl::StrContains(refusal(limits),
                              absl::StrCat(bytes.size(), " bytes; at most ", bytes.size() - 1)));
    limits = exact;
    --limits.max_pixels;
    REQUIRE(absl::StrContains(refusal(limits), "= 65 pixels is too large; at most 64"));
    limits = exact;
    --limits.max_side;
    REQUIRE(absl::StrContains(refusal(limits), "13"));
    REQUIRE(absl::StrContains(refusal(limits), "at most 12 pixels"));
  }
}

TEST_CASE("formats that are not served are named") {
  const struct {
    std::string bytes;
    const char* name;
  } cases[] = {
      {"GIF89a\x01\x00", "GIF"},
      {"GIF87a", "GIF"},
      {"BM\x36\x00", "BMP"},
      {std::string("II*\0\x08", 5), "TIFF"},
      {std::string("MM\0*\x08", 5), "TIFF"},
      {std::string("\0\0\0\x18"
                   "ftypheic",
                   12),
       "HEIF"},
      {std::string("\0\0\0\x18"
                   "ftypmif1",
                   12),
       "HEIF"},
      {std::string("\0\0\0\x1c"
                   "ftypavif",
                   12),
       "AVIF"},
      {"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"},
      {"\xEF\xBB\xBF <?xml version='1.0'?>\n<!-- a -->\n<svg/>", "SVG"},
  };
  for (const auto& c : cases) {
    const absl::Status status = DecodeImage(c.bytes, DecodeLimits()).status();
    CAPTURE(c.name, status.ToString());
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(
        absl::StrContains(status.message(), absl::StrCat("image is ", c.name, ", which is not")));
  }
}

TEST_CASE("what is no picture is refused with its first bytes") {
  REQUIRE(absl::StrContains(DecodeImage("", DecodeLimits()).status().message(), "is empty"));
  const absl::Status status = DecodeImage("hello world", DecodeLimits()).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), "0x68656c6c6f20776f"));
}

// Each output pixel looks for its own block.
Pixels SlowShrink(const Pixels& from, int factor) {
  Pixels to;
  to.width = (from.width + factor - 1) / factor;
  to.height = (from.height + factor - 1) / factor;
  for (int y = 0; y < to.height; ++y) {
    for (int x = 0; x < to.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        double sum = 0;
        int count = 0;
        for (int v = y * factor; v < (y + 1) * factor && v < from.height; ++v) {
          for (int u = x * factor; u < (x + 1) * factor && u < from.width; ++u, ++count) {
            sum += from.rgb[(size_t(v) * from.width + u) * 3 + c];
          }
        }
        to.rgb.push_back(static_cast<uint8_t>(sum / count + 0.5));
      }
    }
  }
  return to;
}

TEST_CASE("shrinking averages whole blocks as far as both sides allow") {
  const struct {
    int width, height, min_side, factor;
  } cases[] = {
      {64, 64, 32, 2}, {64, 64, 33, 1}, {63, 64, 32, 1}, {100, 40, 8, 5}, {41, 103, 8, 5},
      {9, 9, 1, 9},    {9, 9, 0, 9},    {7, 500, 3, 2},  {1, 1, 1, 1},
  };
  for (const auto& c : cases) {
    CAPTURE(c.width, c.height, c.min_side);
    const Pixels original = Gradient(c.width, c.height);
    const Pixels shrunk = ShrinkTowards(original, c.min_side);
    REQUIRE(std::min(shrunk.width, shrunk.height) >= std::min({c.min_side, c.width, c.height}));
    const Pixels expected = c.factor == 1 ? original : SlowShrink(original, c.factor);
    REQUIRE(shrunk.width == expected.width);
    REQUIRE(shrunk.height == expected.height);
    REQUIRE(shrunk.rgb == expected.rgb);
  }
}

}  // namespace
}  // namespace sightline
