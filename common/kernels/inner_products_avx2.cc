// For every CPU that Sightline runs on.
#include "common/kernels/inner_product_kernels.h"
#include "common/kernels/inner_product_tiles.h"

namespace sightline::kernels {

const InnerProductKernel kAvx2InnerProducts = {"avx2", kTileRows<1>, &FindReached};

}  // namespace sightline::kernels
