// Which way up a photograph is, as its camera wrote it into EXIF (CIPA DC-008, tag
// 0x0112, Orientation).
#ifndef SIGHTLINE_COMMON_IMAGE_ORIENTATION_H_
#define SIGHTLINE_COMMON_IMAGE_ORIENTATION_H_

#include "absl/strings/string_view.h"
#include "common/image/image_input.h"

namespace sightline {

// The orientation, 1 to 8, in an EXIF block that begins with "Exif\0\0"; 1 (upright) if
// the block has none or is broken.  Reads inside `exif` only, whatever it holds.
int ExifOrientation(absl::string_view exif);

// Whether a picture of this orientation changes width with height when turned upright.
inline bool TurnsSideways(int orientation) {
  return orientation >= 5 && orientation <= 8;
}

// The picture turned and mirrored so that `orientation` becomes 1.  Up to 4 it happens
// in place, above it takes a second picture's memory.
Pixels TurnUpright(Pixels pixels, int orientation);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_IMAGE_ORIENTATION_H_
