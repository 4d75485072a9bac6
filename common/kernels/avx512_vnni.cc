// For CPUs with VNNI in 512 bits.
#include "common/kernels/attention.h"
#include "common/kernels/instruction_sets.h"
#include "common/kernels/product.h"
#include "common/kernels/row_kernels.h"

namespace sightline::kernels {
namespace {

struct VnniDot {
  using Weights = __m512i;
  using Unit = __m512i;
  using Sum = __m512i;
  static SIGHTLINE_INLINE Sum Zero() { return _mm512_setzero_si512(); }
  static SIGHTLINE_INLINE Weights LoadWeights(const std::byte* p) { return _mm512_loadu_si512(p); }
  static SIGHTLINE_INLINE Unit Spread(const std::byte* p) { return _mm512_set1_epi32(UnitAt(p)); }
  static SIGHTLINE_INLINE Sum Step(Sum sum, Weights weights, Unit unit) {
    return _mm512_dpbusd_epi32(sum, weights, unit);
  }
  static SIGHTLINE_INLINE Vector Difference(Sum sum, int32_t zero) {
    return {_mm512_cvtepi32_ps(_mm512_sub_epi32(sum, _mm512_set1_epi32(zero)))};
  }
};

}  // namespace

const ProductKernel kAvx512VnniInt8 = {
    "int8",  "avx512_vnni",         4, 128, kTileRows, &EncodeInt8, &MultiplyInt8<VnniDot>,
    &kSteps, &Exercise<VnniDot, 4>,
};

}  // namespace sightline::kernels
