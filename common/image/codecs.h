// The three decoders behind decode.h, one file each, each the only one to include its
// library.  The callers have recognised the format already.
//
// Read...Header reads the header and allocates nothing that grows with the picture.
// Decode... takes bytes whose header the limits allowed.  Both fail with InvalidArgument,
// the library's words in the message.
#ifndef SIGHTLINE_COMMON_IMAGE_CODECS_H_
#define SIGHTLINE_COMMON_IMAGE_CODECS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/image/decode.h"
#include "common/image/image_input.h"

namespace sightline {

absl::StatusOr<ImageHeader> ReadJpegHeader(absl::string_view bytes);
absl::StatusOr<Pixels> DecodeJpeg(absl::string_view bytes);

absl::StatusOr<ImageHeader> ReadPngHeader(absl::string_view bytes);
absl::StatusOr<Pixels> DecodePng(absl::string_view bytes);
absl::StatusOr<RgbaPixels> DecodePngWithAlpha(absl::string_view bytes);

absl::StatusOr<ImageHeader> ReadWebpHeader(absl::string_view bytes);
absl::StatusOr<Pixels> DecodeWebp(absl::string_view bytes);

// Composes `count` RGBA pixels (alpha not premultiplied) on white into RGB.  The two
// may begin at the same address.
inline void ComposeOnWhite(const uint8_t* rgba, size_t count, uint8_t* rgb) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t alpha = rgba[4 * i + 3];
    for (size_t channel = 0; channel < 3; ++channel) {
      const uint32_t value = rgba[4 * i + channel];
      rgb[3 * i + channel] =
          static_cast<uint8_t>((value * alpha + 255 * (255 - alpha) + 127) / 255);
    }
  }
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_IMAGE_CODECS_H_
