// For every CPU that Sightline runs on.
#include "common/kernels/attention.h"
#include "common/kernels/instruction_sets.h"
#include "common/kernels/product.h"
#include "common/kernels/row_kernels.h"

namespace sightline::kernels {

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
    &MultiplyInt8<PairsDot>,
    &kSteps,
    &Exercise<PairsDot, 4>,
};

}  // namespace sightline::kernels
