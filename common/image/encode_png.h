// Pictures as PNG files.
#ifndef SIGHTLINE_COMMON_IMAGE_ENCODE_PNG_H_
#define SIGHTLINE_COMMON_IMAGE_ENCODE_PNG_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/image/image_input.h"

namespace sightline {

// 8-bit RGB.  What is decoded is `pixels` again; the file's bytes are those of this machine's
// libspng and zlib.  InvalidArgument for pixels that are none, or not width x height x 3.
absl::StatusOr<std::string> PngFileOf(const Pixels& pixels);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_IMAGE_ENCODE_PNG_H_
