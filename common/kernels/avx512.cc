// For CPUs with AVX-512.
#include "common/kernels/attention.h"
#include "common/kernels/instruction_sets.h"
#include "common/kernels/product.h"
#include "common/kernels/row_kernels.h"

namespace sightline::kernels {
namespace {

// Two products of a weight of 7 bits and an input of 8 fit 16 bits with their sign.
struct Avx512Int8Dot {
  using Weights = __m512i;
  using Unit = __m512i;
  using Sum = __m512i;
  static SIGHTLINE_INLINE Sum Zero() { return _mm512_setzero_si512(); }
  static SIGHTLINE_INLINE Weights LoadWeights(const std::byte* p) { return _mm512_loadu_si512(p); }
  static SIGHTLINE_INLINE Unit Spread(const std::byte* p) { return _mm512_set1_epi32(UnitAt(p)); }
  static SIGHTLINE_INLINE Sum Step(Sum sum, Weights weights, Unit unit) {
    const __m512i pairs = _mm512_maddubs_epi16(weights, unit);
    return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
  }
  static SIGHTLINE_INLINE Vector Difference(Sum sum, int32_t zero) {
    return {_mm512_cvtepi32_ps(_mm512_sub_epi32(sum, _mm512_set1_epi32(zero)))};
  }
};

}  // namespace

const ProductKernel kAvx512Float32 = {
    "float32",
    "avx512f",
    1,
    0,
    kTileRows,
    &EncodeFloat32,
    &MultiplyFloats<Float32Dot>,
    &kSteps,
    &Exercise<Float32Dot, 1>,
};

const ProductKernel kAvx512Int8 = {
    "int8",
    "avx512bw",
    4,
    64,
    kTileRows,
    &EncodeInt8,
    &MultiplyInt8<Avx512Int8Dot>,
    &kSteps,
    &Exercise<Avx512Int8Dot, 4>,
};

}  // namespace sightline::kernels
