// Decoding of pictures from strangers.
//
// The header is read first and judged against the limits; only then is memory taken.
// JPEG, PNG and WebP, recognised by their first bytes, never by a name.
//
//   ASSIGN_OR_RETURN(Pixels pixels, DecodeImage(bytes, DecodeLimits()));
#ifndef SIGHTLINE_COMMON_IMAGE_DECODE_H_
#define SIGHTLINE_COMMON_IMAGE_DECODE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/limits.h"
#include "common/image/image_input.h"

namespace sightline {

struct DecodeLimits {
  // Of the encoded picture.
  int64_t max_bytes = limits::kMaxCorpusImageBytes;
  // Width times height.  The three bytes per pixel of the result, plus what a decoder
  // needs beside it, follow from this.
  int64_t max_pixels = limits::kMaxImagePixels;
  // Width and height each.
  int max_side = limits::kMaxImageSide;
};

enum class ImageFormat { kJpeg, kPng, kWebp };

struct ImageHeader {
  ImageFormat format = ImageFormat::kPng;
  int width = 0;
  int height = 0;
};

// Reads the header only.  InvalidArgument: empty, unknown format (GIF, BMP, TIFF and
// SVG are named as such), broken header, zero or over-limit size; the message has the
// value and the limit.
absl::StatusOr<ImageHeader> ReadImageHeader(absl::string_view bytes, const DecodeLimits& limits);

// Decodes the whole picture (the first frame of an animated WebP).  InvalidArgument as
// above and for truncated or corrupt data.  ResourceExhausted never: what the limits
// allow is decoded.
absl::StatusOr<Pixels> DecodeImage(absl::string_view bytes, const DecodeLimits& limits);

// A decoded picture with its transparency: 8-bit RGBA, row-major, no padding; colours are not
// multiplied by alpha.
struct RgbaPixels {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgba;  // width * height * 4
};

// Decodes a PNG without composing it on anything.  InvalidArgument as DecodeImage, and for
// other formats.
absl::StatusOr<RgbaPixels> DecodeRgbaPng(absl::string_view bytes, const DecodeLimits& limits);

// Shrinks by a whole factor through area averaging, as far as both sides stay at least
// `min_side`; the picture itself if it is too small for a factor of two.
Pixels ShrinkTowards(Pixels pixels, int min_side);

// Length that the side `length` of a picture gets when its longer side, `longer`, becomes
// `side`.
int64_t ScaledSide(int64_t length, int64_t longer, int64_t side);

// The picture shrunk by a whole factor until it is less than four times as large as a
// square of `side` needs it: what laying it on such a square begins with.  Doing it twice
// is doing it once.
Pixels ReducePicture(Pixels pixels, int64_t side);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_IMAGE_DECODE_H_
