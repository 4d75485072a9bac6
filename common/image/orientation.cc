#include "common/image/orientation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"

namespace sightline {
namespace {

constexpr int kUpright = 1;
constexpr absl::string_view kExifMark("Exif\0\0", 6);
constexpr uint16_t kOrientationTag = 0x0112;
constexpr uint16_t kShortType = 3;
constexpr size_t kEntryBytes = 12;

// Numbers in a TIFF block of either byte order; zero beyond its end.
class TiffReader {
 public:
  TiffReader(absl::string_view block, bool big_endian) : block_(block), big_endian_(big_endian) {}

  uint16_t Short(size_t offset) const { return static_cast<uint16_t>(Number(offset, 2)); }
  uint32_t Long(size_t offset) const { return Number(offset, 4); }

 private:
  uint32_t Number(size_t offset, size_t size) const {
    if (block_.size() < size || offset > block_.size() - size) return 0;
    uint32_t number = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t at = big_endian_ ? offset + i : offset + size - 1 - i;
      number = number << 8 | static_cast<uint8_t>(block_[at]);
    }
    return number;
  }

  const absl::string_view block_;
  const bool big_endian_;
};

uint8_t* At(Pixels* pixels, int x, int y) {
  return pixels->rgb.data() + (static_cast<size_t>(y) * pixels->width + x) * 3;
}

void SwapPixels(uint8_t* a, uint8_t* b) {
  std::swap_ranges(a, a + 3, b);
}

void MirrorRows(Pixels* pixels) {
  for (int y = 0; y < pixels->height; ++y) {
    for (int left = 0, right = pixels->width - 1; left < right; ++left, --right) {
      SwapPixels(At(pixels, left, y), At(pixels, right, y));
    }
  }
}

void FlipTopToBottom(Pixels* pixels) {
  const size_t row_bytes = static_cast<size_t>(pixels->width) * 3;
  for (int top = 0, bottom = pixels->height - 1; top < bottom; ++top, --bottom) {
    uint8_t* row = At(pixels, 0, top);
    std::swap_ranges(row, row + row_bytes, At(pixels, 0, bottom));
  }
}

// Rows become columns.  Goes tile by tile: whole columns of a large picture would miss
// the cache with every pixel.
Pixels Transpose(Pixels from) {
  constexpr int kTile = 32;
  Pixels to;
  to.width = from.height;
  to.height = from.width;
  to.rgb.resize(from.rgb.size());
  for (int top = 0; top < from.height; top += kTile) {
    const int bottom = std::min(top + kTile, from.height);
    for (int left = 0; left < from.width; left += kTile) {
      const int right = std::min(left + kTile, from.width);
      for (int x = left; x < right; ++x) {
        for (int y = top; y < bottom; ++y) std::memcpy(At(&to, y, x), At(&from, x, y), 3);
      }
    }
  }
  return to;
}

}  // namespace

int ExifOrientation(absl::string_view exif) {
  if (!absl::StartsWith(exif, kExifMark)) return kUpright;
  const absl::string_view tiff = exif.substr(kExifMark.size());
  const bool big_endian = absl::StartsWith(tiff, "MM");
  if (!big_endian && !absl::StartsWith(tiff, "II")) return kUpright;
  const TiffReader reader(tiff, big_endian);
  if (reader.Short(2) != 42) return kUpright;

  const size_t directory = reader.Long(4);
  if (directory >= tiff.size()) return kUpright;
  const size_t room = (tiff.size() - directory) / kEntryBytes;
  const size_t entries = std::min<size_t>(reader.Short(directory), room);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    if (reader.Short(entry) != kOrientationTag) continue;
    const int orientation = reader.Short(entry + 8);
    const bool well_formed = reader.Short(entry + 2) == kShortType && reader.Long(entry + 4) == 1;
    return well_formed && orientation >= 1 && orientation <= 8 ? orientation : kUpright;
  }
  return kUpright;
}

Pixels TurnUpright(Pixels pixels, int orientation) {
  // What EXIF calls 5 to 8 is a transposed picture that may be mirrored besides.
  if (TurnsSideways(orientation)) pixels = Transpose(std::move(pixels));
  switch (orientation) {
    case 2:
    case 6:
      MirrorRows(&pixels);
      break;
    case 4:
    case 8:
      FlipTopToBottom(&pixels);
      break;
    case 3:
    case 7:
      MirrorRows(&pixels);
      FlipTopToBottom(&pixels);
      break;
    default:
      break;
  }
  return pixels;
}

}  // namespace sightline
