// For CPUs with VNNI in 256 bits and without AVX-512.
#include "common/kernels/attention.h"
#include "common/kernels/instruction_sets.h"
#include "common/kernels/product.h"
#include "common/kernels/row_kernels.h"

namespace sightline::kernels {
namespace {

struct AvxVnniDot {
  using Weights = __m256i;
  using Unit = __m256i;
  using Sum = __m256i;
  static SIGHTLINE_INLINE Sum Zero() { return _mm256_setzero_si256(); }
  static SIGHTLINE_INLINE Weights LoadWeights(const std::byte* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static SIGHTLINE_INLINE Unit Spread(const std::byte* p) { return _mm256_set1_epi32(UnitAt(p)); }
  static SIGHTLINE_INLINE Sum Step(Sum sum, Weights weights, Unit unit) {
    return _mm256_dpbusd_avx_epi32(sum, weights, unit);
  }
  static SIGHTLINE_INLINE Vector Difference(Sum sum, int32_t zero) {
    return {_mm256_cvtepi32_ps(_mm256_sub_epi32(sum, _mm256_set1_epi32(zero)))};
  }
};

}  // namespace

const ProductKernel kAvxVnniInt8 = {
    "int8",
    "avx_vnni",
    4,
    128,
    kTileRows,
    &EncodeInt8,
    &MultiplyInt8<AvxVnniDot>,
    &kSteps,
    &Exercise<AvxVnniDot, 4>,
};

}  // namespace sightline::kernels
