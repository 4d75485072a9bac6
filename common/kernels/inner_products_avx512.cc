// For CPUs with AVX-512.
#include "common/kernels/inner_product_kernels.h"
#include "common/kernels/inner_product_tiles.h"

namespace sightline::kernels {

const InnerProductKernel kAvx512InnerProducts = {"avx512f", kTileRows<1>, &FindReached};

}  // namespace sightline::kernels
