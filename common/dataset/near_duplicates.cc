#include "common/dataset/near_duplicates.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace sightline {
namespace {

constexpr int kColumns = 9;
constexpr int kRows = 8;

// In thousandths, so that sums stay whole.
constexpr uint64_t kRed = 299;
constexpr uint64_t kGreen = 587;
constexpr uint64_t kBlue = 114;

// A side of `length` pixels cut into `count` cells: with a pixel counted as `count` long
// and a cell as `length` long, all borders are whole numbers.
struct Side {
  int64_t length;
  int64_t count;

  int64_t first_pixel(int64_t cell) const { return cell * length / count; }
  int64_t end_pixel(int64_t cell) const { return ((cell + 1) * length + count - 1) / count; }
  // How much of the pixel lies in the cell.
  uint64_t Overlap(int64_t cell, int64_t pixel) const {
    const int64_t begin = std::max(cell * length, pixel * count);
    const int64_t end = std::min((cell + 1) * length, (pixel + 1) * count);
    return static_cast<uint64_t>(std::max<int64_t>(0, end - begin));
  }
};

using Cells = std::array<std::array<uint64_t, kColumns>, kRows>;

// Brightness of each cell.  All cells are equally large, so sums compare as averages do.
// The largest sum, 255 000 times width times height, is far below 2^64.
Cells CellSums(const Pixels& pixels) {
  const Side columns{pixels.width, kColumns};
  const Side rows{pixels.height, kRows};
  Cells cells{};
  for (int64_t cell_y = 0; cell_y < kRows; ++cell_y) {
    for (int64_t y = rows.first_pixel(cell_y); y < rows.end_pixel(cell_y); ++y) {
      const uint8_t* const line = pixels.rgb.data() + 3 * y * pixels.width;
      const uint64_t height = rows.Overlap(cell_y, y);
      for (int64_t cell_x = 0; cell_x < kColumns; ++cell_x) {
        uint64_t sum = 0;
        for (int64_t x = columns.first_pixel(cell_x); x < columns.end_pixel(cell_x); ++x) {
          const uint8_t* const rgb = line + 3 * x;
          const uint64_t grey = kRed * rgb[0] + kGreen * rgb[1] + kBlue * rgb[2];
          sum += grey * columns.Overlap(cell_x, x);
        }
        cells[cell_y][cell_x] += sum * height;
      }
    }
  }
  return cells;
}

// Disjoint sets, each named by its smallest member.
class Groups {
 public:
  explicit Groups(size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), int64_t{0});
  }

  int64_t Find(int64_t member) {
    while (parents_[member] != member) {
      parents_[member] = parents_[parents_[member]];
      member = parents_[member];
    }
    return member;
  }

  void Join(int64_t a, int64_t b) {
    a = Find(a);
    b = Find(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<int64_t> parents_;  // never larger than the member
};

}  // namespace

PictureFingerprint FingerprintOf(const Pixels& pixels) {
  PictureFingerprint print;
  const Cells cells = CellSums(pixels);
  for (int y = 0; y < kRows; ++y) {
    for (int x = 0; x + 1 < kColumns; ++x) {
      if (cells[y][x] > cells[y][x + 1]) {
        print.difference_hash |= uint64_t{1} << (y * (kColumns - 1) + x);
      }
    }
  }
  std::array<uint64_t, 3> sums = {0, 0, 0};
  for (size_t i = 0; i < pixels.rgb.size(); i += 3) {
    for (size_t channel = 0; channel < 3; ++channel) sums[channel] += pixels.rgb[i + channel];
  }
  const double count = static_cast<double>(pixels.width) * pixels.height;
  for (size_t channel = 0; channel < 3; ++channel) {
    print.mean_color[channel] = static_cast<double>(sums[channel]) / count;
  }
  return print;
}

bool AreNearDuplicates(const PictureFingerprint& a, const PictureFingerprint& b) {
  if (__builtin_popcountll(a.difference_hash ^ b.difference_hash) > kMaxHashDistance) return false;
  for (size_t channel = 0; channel < 3; ++channel) {
    if (std::abs(a.mean_color[channel] - b.mean_color[channel]) > kMaxColorDistance) return false;
  }
  return true;
}

std::vector<int64_t> GroupNearDuplicates(absl::Span<const PictureFingerprint> pictures) {
  Groups groups(pictures.size());
  for (size_t i = 0; i < pictures.size(); ++i) {
    for (size_t k = i + 1; k < pictures.size(); ++k) {
      if (AreNearDuplicates(pictures[i], pictures[k])) groups.Join(i, k);
    }
  }
  std::vector<int64_t> smallest(pictures.size());
  for (size_t i = 0; i < pictures.size(); ++i) smallest[i] = groups.Find(i);
  return smallest;
}

}  // namespace sightline
