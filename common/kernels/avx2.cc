// For every CPU that Sightline runs on.
#include "common/kernels/attention.h"
#include "common/kernels/instruction_sets.h"
#include "common/kernels/product.h"
#include "common/kernels/row_kernels.h"

namespace sightline::kernels {
namespace {

// Two products of a weight of 7 bits and an input of 8 fit 16 bits with their sign.
struct Avx2Int8Dot {
  using Weights = __m256i;
  using Unit = __m256i;
  using Sum = __m256i;
  static SIGHTLINE_INLINE Sum Zero() { return _mm256_setzero_si256(); }
  static SIGHTLINE_INLINE Weights LoadWeights(const std::byte* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static SIGHTLINE_INLINE Unit Spread(const std::byte* p) { return _mm256_set1_epi32(UnitAt(p)); }
  static SIGHTLINE_INLINE Sum Step(Sum sum, Weights weights, Unit unit) {
    const __m256i pairs = _mm256_maddubs_epi16(weights, unit);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static SIGHTLINE_INLINE Vector Difference(Sum sum, int32_t zero) {
    return {_mm256_cvtepi32_ps(_mm256_sub_epi32(sum, _mm256_set1_epi32(zero)))};
  }
};

}  // namespace

const ProductKernel kAvx2Float32 = {
    "float32",
    "avx2",
    1,
    0,
    kTileRows,
    &EncodeFloat32,
    &MultiplyFloats<Float32Dot>,
    &kSteps,
    &Exercise<Float32Dot, 1>,
};

const ProductKernel kAvx2Int8 = {
    "int8",
    "avx2",
    4,
    64,
    kTileRows,
    &EncodeInt8,
    &MultiplyInt8<Avx2Int8Dot>,
    &kSteps,
    &Exercise<Avx2Int8Dot, 4>,
};

}  // namespace sightline::kernels
