#include "common/kernels/int8_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sightline::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// What sums of double and roundings to float may take off: far less than this.
constexpr double kMargin = 1 + 1e-6;

float Above(double value) {
  return std::nextafter(static_cast<float>(value * kMargin), kInfinity);
}

// The largest magnitude; infinite if a number is not finite.
float LargestMagnitude(const float* numbers, int64_t n) {
  float most = 0;
  bool finite = true;
  for (int64_t i = 0; i < n; ++i) {
    const float magnitude = std::fabs(numbers[i]);
    finite &= magnitude <= std::numeric_limits<float>::max();
    most = std::max(most, magnitude);
  }
  return finite ? most : kInfinity;
}

// A scale below the normal numbers would lose its bits: such a vector is as good as zero.
float Normal(double scale) {
  return scale >= double{std::numeric_limits<float>::min()} ? static_cast<float>(scale) : 0;
}

// The least scale at which every code of a query fits 16 bits, and its product with any row 32: a
// sum is at most 127 times the sum of the codes' magnitudes, half of each being rounded up.
float QueryScale(const float* query, int64_t dimension) {
  double magnitudes = 0;
  for (int64_t i = 0; i < dimension; ++i) magnitudes += std::fabs(double{query[i]});
  const double most_of_sum =
      std::numeric_limits<int32_t>::max() / 127.0 - 0.5 * static_cast<double>(dimension) - 1;
  return Normal(
      std::max(LargestMagnitude(query, dimension) / 32767.0, magnitudes / most_of_sum * kMargin));
}

}  // namespace

const Int8RowKernel& Int8RowKernelFor(const CpuFeatures& features) {
  return features.avx512 ? kAvx512Int8Rows : kAvx2Int8Rows;
}

Int8RowScale EncodeInt8Row(const float* row, int64_t dimension, int8_t* codes) {
  std::fill_n(codes, Int8RowBytes(dimension), int8_t{0});
  const float most = LargestMagnitude(row, dimension);
  if (most == kInfinity) return {0, kInfinity, 0};
  const float scale = Normal(most / 127.0);
  double error = 0, length = 0;
  const double inverse = scale > 0 ? 1 / double{scale} : 0;
  for (int64_t i = 0; i < dimension; ++i) {
    const double code = std::clamp(std::nearbyint(row[i] * inverse), -127.0, 127.0);
    codes[i] = static_cast<int8_t>(code);
    const double kept = double{scale} * code;
    error += (row[i] - kept) * (row[i] - kept);
    length += kept * kept;
  }
  return {scale, Above(std::sqrt(error)), Above(std::sqrt(length))};
}

Int16Query::Int16Query(const float* query, int64_t dimension) : codes(Int8RowBytes(dimension)) {
  if (LargestMagnitude(query, dimension) == kInfinity) {
    error = length = std::numeric_limits<double>::infinity();
    return;
  }
  scale = QueryScale(query, dimension);
  const double inverse = scale > 0 ? 1 / double{scale} : 0;
  double errors = 0, squares = 0;
  for (int64_t i = 0; i < dimension; ++i) {
    const double code = std::clamp(std::nearbyint(query[i] * inverse), -32767.0, 32767.0);
    codes[i] = static_cast<int16_t>(code);
    const double off = query[i] - double{scale} * code;
    errors += off * off;
    squares += double{query[i]} * query[i];
  }
  error = std::sqrt(errors) * kMargin;
  length = std::sqrt(squares) * kMargin;
}

// Int8Product rounds three times (the sum to float, and two products); what it rounds is at most
// (|q| + |q - s' c'|) |s c| large.  A product of scales below the normal numbers may lose all of
// its bits, which a sum of less than 2^31 multiplies.
float Int8ProductError(const Int16Query& query, const Int8RowScale& row) {
  const double coded = double{row.length};
  const double rounding = 4 * 0x1p-24 * (query.length + query.error) * coded + 0x1p31 * 0x1p-126;
  const double bound = query.length * row.error + query.error * coded + rounding;
  return bound < std::numeric_limits<float>::max() ? Above(bound) : kInfinity;
}

}  // namespace sightline::kernels
