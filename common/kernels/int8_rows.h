// Rows in int8 with a scale, queries in int16, and how far their products are off.
//
// A row x becomes codes c = round(x / s), s = max |x| / 127; a query q becomes c' = round(q / s'),
// s' = max |q| / 32767, or as much more as keeps every sum c . c' below 2^31 (of queries whose
// numbers are all about as large as the largest).  Then s s' (c . c') is off from q . x by at most
//
//   |q| |x - s c| + |q - s' c'| |s c|      (Cauchy and Schwarz)
//
// and by what rounding to float32 adds, which Int8ProductError counts in.
#ifndef SIGHTLINE_COMMON_KERNELS_INT8_ROWS_H_
#define SIGHTLINE_COMMON_KERNELS_INT8_ROWS_H_

#include <cstdint>
#include <vector>

#include "common/kernels/cpu.h"
#include "common/kernels/int8_row_kernels.h"

namespace sightline::kernels {

// The fastest that a CPU with `features` has.
const Int8RowKernel& Int8RowKernelFor(const CpuFeatures& features);

// Bytes of a row of codes: `dimension` rounded up to kInt8RowAlign.
constexpr int64_t Int8RowBytes(int64_t dimension) {
  return (dimension + kInt8RowAlign - 1) / kInt8RowAlign * kInt8RowAlign;
}

// What stands beside a row's codes.
struct Int8RowScale {
  float scale = 0;
  float error = 0;   // at least |x - scale c|; infinite for a row with an infinity or NaN
  float length = 0;  // at least |scale c|
};

// Writes Int8RowBytes(dimension) codes of `row`; all zero where a number of it is not finite.
Int8RowScale EncodeInt8Row(const float* row, int64_t dimension, int8_t* codes);

// A query as kernels read it.
struct Int16Query {
  // Of `dimension` numbers, at most 2^20.  Codes of zero, with an infinite error and length, where
  // one is not finite.
  Int16Query(const float* query, int64_t dimension);

  std::vector<int16_t> codes;  // Int8RowBytes(dimension) of them
  float scale = 0;
  double error = 0;   // at least |q - scale c'|
  double length = 0;  // at least |q|
};

// The product that codes tell, in float32: for orders, and for a bound with Int8ProductError.
inline float Int8Product(const Int16Query& query, const Int8RowScale& row, int32_t sum) {
  return query.scale * row.scale * static_cast<float>(sum);
}

// How far Int8Product may be from q . x as it is in real numbers; infinite where nothing is known.
float Int8ProductError(const Int16Query& query, const Int8RowScale& row);

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_INT8_ROWS_H_
