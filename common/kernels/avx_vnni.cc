// For CPUs with VNNI in 256 bits and without AVX-512.
#include "common/kernels/attention.h"
#include "common/kernels/instruction_sets.h"
#include "common/kernels/product.h"
#include "common/kernels/row_kernels.h"

namespace sightline::kernels {
namespace {

struct AvxVnniDot : Int8Dot {
  static SIGHTLINE_INLINE Sum Step(Sum sum, Weights weights, Unit unit) {
    return _mm256_dpbusd_avx_epi32(sum, weights, unit);
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
