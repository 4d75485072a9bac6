// What the kernels of rows in int8 are given and give.  Plain data, and no function: they are
// compiled with flags of their own.
#ifndef SIGHTLINE_COMMON_KERNELS_INT8_ROW_KERNELS_H_
#define SIGHTLINE_COMMON_KERNELS_INT8_ROW_KERNELS_H_

#include <cstdint>

namespace sightline::kernels {

// A row of codes, and a query, has a multiple of so many numbers; those behind the dimension are
// zero.
inline constexpr int64_t kInt8RowAlign = 32;

// Stateless.  Sums are exact, so all kernels give the same.
struct Int8RowKernel {
  const char* instructions;  // as /proc/cpuinfo names them
  // The sum of query[k] * row[k] over k < n, a multiple of kInt8RowAlign.  Of an Int16Query and
  // rows of EncodeInt8Row it is less than 2^31.
  int32_t (*product)(const int16_t* query, const int8_t* row, int64_t n);
  // The same of `count` rows that begin `stride` bytes apart.
  void (*products)(const int16_t* query, const int8_t* rows, int64_t stride, int64_t count,
                   int64_t n, int32_t* sums);
};

// Each in a file of its own; choose one with Int8RowKernelFor (int8_rows.h), never by name.
extern const Int8RowKernel kAvx2Int8Rows;
extern const Int8RowKernel kAvx512Int8Rows;

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_INT8_ROW_KERNELS_H_
