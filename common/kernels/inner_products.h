// Inner products of many rows with a few queries that reach a limit: the inner loop of a search
// for the best.
//
// A product is summed up in an order of this kernel's own, so it may differ in its last bits from
// one summed otherwise, within InnerProductError.  Whoever needs the bits of another kernel asks
// for what reaches his limit less that error, and computes it again.
//
//   const QueryPanels panels(queries, stride, count, dimension);
//   InnerProducts products = panels.Products();
//   products.rows = ...
//   const int64_t n = InnerProductKernelFor(ThisCpu()).find(products, reached);
#ifndef SIGHTLINE_COMMON_KERNELS_INNER_PRODUCTS_H_
#define SIGHTLINE_COMMON_KERNELS_INNER_PRODUCTS_H_

#include <cstdint>

#include "common/kernels/aligned_buffer.h"
#include "common/kernels/cpu.h"
#include "common/kernels/inner_product_kernels.h"

namespace sightline::kernels {

// Queries as the kernels read them.  Immutable and thread-safe.
class QueryPanels {
 public:
  // Copies `count` >= 1 queries, which begin `stride` numbers apart.  Throws std::bad_alloc.
  QueryPanels(const float* queries, int64_t stride, int64_t count, int64_t dimension);

  int64_t count() const { return count_; }
  // How many limits InnerProducts has.
  int64_t padded_count() const;
  // With them, as long as they live; rows and limits are still to be named.
  InnerProducts Products() const;

 private:
  int64_t count_;
  int64_t dimension_;
  AlignedBuffer panels_;
};

// The fastest that a CPU with `features` has.
const InnerProductKernel& InnerProductKernelFor(const CpuFeatures& features);

// How far two inner products of float32 vectors of these lengths (Euclid's) may differ that are
// summed in whatever orders, fused or not; infinite if one might overflow on the way.  Products and
// sums that come out denormal may be flushed to zero; numbers of the vectors that are denormal may
// not (nobody sets MXCSR.DAZ): times a large number they are as good as others.  (Higham, Accuracy
// and Stability of Numerical Algorithms, 2nd ed., section 3.1: each is within gamma_n |a| |b| of
// the true one.)
float InnerProductError(int64_t dimension, double length_a, double length_b);

// At least the length of `n` < 2^20 numbers, and at most a millionth above it; infinite if one is
// infinite or no number.
double LengthBound(const float* numbers, int64_t n);

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_INNER_PRODUCTS_H_
