// Any bytes as a colour bitmap font: an error, or pictures that lie inside the bytes, by
// ascending code point.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/emoji_font.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view font(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<std::vector<sightline::EmojiBitmap>> bitmaps =
      sightline::ReadEmojiBitmaps(font);
  if (!bitmaps.ok()) {
    Require(absl::IsInvalidArgument(bitmaps.status()));
    return 0;
  }
  int64_t previous = -1;
  for (const sightline::EmojiBitmap& bitmap : *bitmaps) {
    Require(bitmap.code_point > previous && bitmap.code_point <= 0x10FFFF);
    previous = bitmap.code_point;
    Require(bitmap.png.size() >= 8);
    Require(bitmap.png.data() >= font.data());
    Require(bitmap.png.data() + bitmap.png.size() <= font.data() + font.size());
  }
  return 0;
}
