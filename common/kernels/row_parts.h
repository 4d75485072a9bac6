// Rows as whoever keeps them has them: what a pass reads, without a copy between.
#ifndef SIGHTLINE_COMMON_KERNELS_ROW_PARTS_H_
#define SIGHTLINE_COMMON_KERNELS_ROW_PARTS_H_

#include <cstdint>

#include "common/base/dtype.h"

namespace sightline::kernels {

// Some rows, one after another, little-endian and at any address.  Not owned.
struct RowPart {
  const void* numbers = nullptr;
  Dtype dtype = Dtype::kFloat32;  // or kFloat16, kInt8
  // Of kInt8: float32, one a row, by which its numbers are multiplied.
  const void* scales = nullptr;
  int64_t rows = 0;
};

// Writes the rows of `part`, of `n` numbers each, to `to` as float32: float16 as it is, int8 as the
// float32 nearest to number times scale.  Whatever reads them gets these bits.
void ReadRows(const RowPart& part, int64_t n, float* to);

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_ROW_PARTS_H_
