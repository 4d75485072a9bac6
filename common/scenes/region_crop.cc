#include "common/scenes/region_crop.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace sightline {
namespace {

constexpr int kMarginShare = 8;

// From `first` on, `length` pixels of a side.
struct Stretch {
  int first = 0, length = 0;
};

Stretch WithMargin(int at, int length) {
  const int margin = std::max(length / kMarginShare, 1);
  const int first = std::max(at - margin, 0);
  return {first, std::min(at + length + margin, kCanvasSide) - first};
}

// Calls add(pixel, weight) for each pixel of `stretch` that value `i` of kRegionSide covers, in
// whole or in part; the weights of one value add up to the stretch's length.
template <typename Add>
void ForCovered(const Stretch& stretch, int i, const Add& add) {
  const int end = (i + 1) * stretch.length;
  for (int at = i * stretch.length; at < end;) {
    const int pixel = at / kRegionSide;
    const int next = std::min((pixel + 1) * kRegionSide, end);
    add(stretch.first + pixel, next - at);
    at = next;
  }
}

using Sums = std::array<uint32_t, 3 * kRegionSide>;  // by channel, then column

// Of one row of the canvas.
Sums RowSums(const Pixels& canvas, int y, const Stretch& columns) {
  Sums sums = {};
  const uint8_t* const row = &canvas.rgb[static_cast<size_t>(y) * canvas.width * 3];
  for (int i = 0; i < kRegionSide; ++i) {
    ForCovered(columns, i, [&](int x, int weight) {
      for (int c = 0; c < 3; ++c) sums[c * kRegionSide + i] += row[x * 3 + c] * weight;
    });
  }
  return sums;
}

}  // namespace

void CropRegion(const Pixels& canvas, const PixelBox& box, uint8_t* crop) {
  const Stretch columns = WithMargin(box.x, box.width), rows = WithMargin(box.y, box.height);
  std::vector<Sums> row_sums;
  for (int y = 0; y < rows.length; ++y) {
    row_sums.push_back(RowSums(canvas, rows.first + y, columns));
  }
  const uint32_t area = columns.length * rows.length;
  for (int i = 0; i < kRegionSide; ++i) {
    Sums sums = {};
    ForCovered(rows, i, [&](int y, int weight) {
      const Sums& row = row_sums[y - rows.first];
      for (size_t k = 0; k < sums.size(); ++k) sums[k] += row[k] * weight;
    });
    for (int c = 0; c < 3; ++c) {
      for (int x = 0; x < kRegionSide; ++x) {
        crop[(c * kRegionSide + i) * kRegionSide + x] =
            static_cast<uint8_t>((sums[c * kRegionSide + x] + area / 2) / area);
      }
    }
  }
}

}  // namespace sightline
