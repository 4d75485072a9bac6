// Compiled with flags of its own: include nothing with functions that other files have too.
#include "common/kernels/int8_row_products.h"

namespace sightline::kernels {

extern const Int8RowKernel kAvx512Int8Rows = {"avx512", &Int8RowProduct, &Int8RowProducts};

}  // namespace sightline::kernels
