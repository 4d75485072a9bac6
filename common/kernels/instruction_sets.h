// The kernels by what a CPU must have for them.  Each is in a file of its own, compiled for those
// instructions; choose one with KernelFor (kernel_choice.h), never by name.
#ifndef SIGHTLINE_COMMON_KERNELS_INSTRUCTION_SETS_H_
#define SIGHTLINE_COMMON_KERNELS_INSTRUCTION_SETS_H_

#include "common/kernels/kernels.h"

namespace sightline::kernels {

extern const ProductKernel kAvx2Float32;
extern const ProductKernel kAvx2Int8;
extern const ProductKernel kAvxVnniInt8;
extern const ProductKernel kAvx512Float32;
extern const ProductKernel kAvx512Int8;
extern const ProductKernel kAvx512VnniInt8;
extern const ProductKernel kAvx512Bfloat16;
extern const ProductKernel kAmxInt8;
extern const ProductKernel kAmxBfloat16;

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_INSTRUCTION_SETS_H_
