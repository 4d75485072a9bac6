// For CPUs with products of bfloat16 in 512 bits.
#include "common/kernels/attention.h"
#include "common/kernels/instruction_sets.h"
#include "common/kernels/product.h"
#include "common/kernels/row_kernels.h"

namespace sightline::kernels {
namespace {

struct Bfloat16Dot {
  using Weights = __m512bh;
  using Unit = __m512bh;
  using Sum = Vector;
  static SIGHTLINE_INLINE Sum Zero() { return Vector::Of(0); }
  static SIGHTLINE_INLINE Weights LoadWeights(const std::byte* p) {
    return reinterpret_cast<__m512bh>(_mm512_loadu_si512(p));
  }
  static SIGHTLINE_INLINE Unit Spread(const std::byte* p) {
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(UnitAt(p)));
  }
  static SIGHTLINE_INLINE Sum Step(Sum sum, Weights weights, Unit unit) {
    return {_mm512_dpbf16_ps(sum.v, weights, unit)};
  }
};

}  // namespace

const ProductKernel kAvx512Bfloat16 = {
    "bfloat16",
    "avx512_bf16",
    2,
    0,
    kTileRows,
    &EncodeBfloat16,
    &MultiplyFloats<Bfloat16Dot>,
    &kSteps,
    &Exercise<Bfloat16Dot, 2>,
};

}  // namespace sightline::kernels
