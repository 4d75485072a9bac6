// For CPUs with VNNI in 512 bits.
#include "common/kernels/attention.h"
#include "common/kernels/instruction_sets.h"
#include "common/kernels/product.h"
#include "common/kernels/row_kernels.h"

namespace sightline::kernels {
namespace {

struct VnniDot : Int8Dot {
  static SIGHTLINE_INLINE Sum Step(Sum sum, Weights weights, Unit unit) {
    return _mm512_dpbusd_epi32(sum, weights, unit);
  }
};

}  // namespace

const ProductKernel kAvx512VnniInt8 = {
    "int8",  "avx512_vnni",         4, 128, kTileRows, &EncodeInt8, &MultiplyInt8<VnniDot>,
    &kSteps, &Exercise<VnniDot, 4>,
};

}  // namespace sightline::kernels
