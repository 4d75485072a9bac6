// For CPUs with AVX-512.
#include "common/kernels/attention.h"
#include "common/kernels/instruction_sets.h"
#include "common/kernels/product.h"
#include "common/kernels/row_kernels.h"

namespace sightline::kernels {

const ProductKernel kAvx512Float32 = {
    "float32", "avx512f",       1, 0, kTileRows, &EncodeFloat32, &MultiplyFloats<Float32Dot>,
    &kSteps,
};

}  // namespace sightline::kernels
