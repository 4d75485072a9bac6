// Products of small float32 matrices that lie anyhow in memory.  Attention has thousands of them a
// step, of tens of rows, and to hand each to a BLAS of its own takes as long as to compute it.
#ifndef SIGHTLINE_COMMON_KERNELS_SMALL_PRODUCTS_H_
#define SIGHTLINE_COMMON_KERNELS_SMALL_PRODUCTS_H_

#include <cstdint>

namespace sightline::kernels {

// A matrix: number (i, j) is data[i * row_step + j * column_step].
struct StridedMatrix {
  const float* data = nullptr;
  int64_t row_step = 0;
  int64_t column_step = 1;
};

// Of rows x inner times inner x columns, each at least 1.
struct ProductShape {
  int64_t rows = 0;
  int64_t inner = 0;
  int64_t columns = 0;
};

// How many floats MultiplySmall wants to work in.
int64_t SmallProductFloats(const ProductShape& shape);

// Number (i, j) of a b to out[i * out_step + j].  Each is summed over `inner` in its order by fused
// multiply-adds, so that its bits depend on its row of `a` and its column of `b` alone.  `work`
// holds SmallProductFloats; it, `out` and what is multiplied do not overlap.
void MultiplySmall(const ProductShape& shape, const StridedMatrix& a, const StridedMatrix& b,
                   float* work, float* out, int64_t out_step);

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_SMALL_PRODUCTS_H_
