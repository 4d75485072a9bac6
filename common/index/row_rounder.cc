#include "common/index/row_rounder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/float16.h"
#include "common/index/block_lengths.h"

namespace sightline {
namespace {

// Outliers that each search may score beside all else: so many, or one row in a hundred.
constexpr int64_t kFewOutliers = 1000;

constexpr uint16_t kNoNumber = 0x7E00;

}  // namespace

RowRounder::RowRounder(Dtype dtype, const DeviceLayout& layout)
    : dtype_(dtype), layout_(layout), halves_(layout.dimension), lost_(layout.dimension) {}

void RowRounder::Round(int64_t row, const float* numbers, uint16_t* to) {
  const int dimension = layout_.dimension;
  Float32ToFloat16(numbers, dimension, reinterpret_cast<char*>(halves_.data()));
  if (dtype_ == Dtype::kFloat16) {
    rounding_.longest = std::max(rounding_.longest, LengthAbove(numbers, dimension));
  } else {
    Float16ToFloat32(reinterpret_cast<const char*>(halves_.data()), dimension, lost_.data());
    // Exact: of numbers that are so close, or of one that rounds to nothing.
    for (int i = 0; i < dimension; ++i) lost_[i] = numbers[i] - lost_[i];
    const float error = LengthAbove(lost_.data(), dimension);
    const float length = LengthAbove(numbers, dimension);
    if (std::isfinite(error) && std::isfinite(length)) {
      rounding_.most_error = std::max(rounding_.most_error, error);
      rounding_.longest = std::max(rounding_.longest, length);
    } else {
      rounding_.outliers.push_back(row);
      std::fill(halves_.begin(), halves_.end(), kNoNumber);
    }
  }
  layout_.ArrangeRow(halves_.data(), to);
}

absl::StatusOr<RowRounding> RowRounder::Rounding(int64_t rows) && {
  const auto outliers = static_cast<int64_t>(rounding_.outliers.size());
  if (outliers > std::max(kFewOutliers, rows / 100)) {
    return absl::InvalidArgumentError(absl::StrCat(
        outliers, " of ", rows, " rows have numbers that float16 has not, up to 65504: a device ",
        "would be no help with them; serve them on the CPU"));
  }
  return std::move(rounding_);
}

}  // namespace sightline
