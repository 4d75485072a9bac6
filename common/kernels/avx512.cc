// For CPUs with AVX-512.
#include "common/kernels/attention.h"
#include "common/kernels/instruction_sets.h"
#include "common/kernels/product.h"
#include "common/kernels/row_kernels.h"

namespace sightline::kernels {

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
    &MultiplyInt8<PairsDot>,
    &kSteps,
    &Exercise<PairsDot, 4>,
};

}  // namespace sightline::kernels
