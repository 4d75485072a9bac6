// Pictures as files, for tests.  PNG is written by hand, because every colour type, depth
// and damage is wanted; JPEG and WebP by the libraries' encoders.
#ifndef SIGHTLINE_TESTS_COMMON_IMAGE_ENCODE_H_
#define SIGHTLINE_TESTS_COMMON_IMAGE_ENCODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/image/image_input.h"

namespace sightline {

// A picture of `width` x `height` with smooth colours, no two corners alike.
Pixels Gradient(int width, int height);

struct PngSpec {
  int width = 0;
  int height = 0;
  int bit_depth = 8;
  int color_type = 2;  // as in IHDR: 0 grey, 2 RGB, 3 palette, 4 grey+alpha, 6 RGBA
  bool interlaced = false;
  std::vector<uint8_t> palette;        // RGB triples
  std::vector<uint8_t> palette_alpha;  // one byte for each of the first entries
  // Rows as PNG has them (16 bit: big-endian; below 8 bit: packed), no filter bytes.
  std::string rows;
};

std::string EncodePng(const PngSpec& spec);
std::string EncodePng(const Pixels& pixels, bool interlaced = false);

struct JpegSpec {
  bool progressive = false;
  int channels = 3;  // 1 grey, 3 RGB, 4 CMYK as Adobe stores it (255 is no ink)
  // Grey only: 64 scans, one per coefficient; with `refined` 127, the last bit of each
  // coefficient apart.
  bool scan_per_coefficient = false;
  bool refined = false;
};

// `samples`: width x height x channels.
std::string EncodeJpeg(int width, int height, const std::vector<uint8_t>& samples,
                       const JpegSpec& spec);
std::string EncodeJpeg(const Pixels& pixels);

// `jpeg` with an EXIF block that says `orientation`, in the byte order given.
std::string WithOrientation(const std::string& jpeg, int orientation, bool big_endian);

// The block alone, as it lies in an APP1 marker.
std::string ExifBlock(int orientation, bool big_endian);

std::string EncodeWebpLossless(const Pixels& pixels);
std::string EncodeWebpLossy(const Pixels& pixels);
// `rgba`: width x height x 4.
std::string EncodeWebpRgba(int width, int height, const std::vector<uint8_t>& rgba);

struct WebpFrame {
  int x = 0;  // even
  int y = 0;  // even
  Pixels pixels;
};
std::string EncodeWebpAnimation(int width, int height, const std::vector<WebpFrame>& frames);

// A chunk of a PNG file, with its length and CRC.
std::string PngChunk(absl::string_view type, absl::string_view content);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_IMAGE_ENCODE_H_
