// Which kernels this CPU has.
#ifndef SIGHTLINE_COMMON_KERNELS_KERNEL_CHOICE_H_
#define SIGHTLINE_COMMON_KERNELS_KERNEL_CHOICE_H_

#include <string_view>
#include <vector>

#include "common/kernels/cpu.h"
#include "common/kernels/kernels.h"

namespace sightline::kernels {

// All that a CPU with `features` can run, of each precision the fastest first.
std::vector<const ProductKernel*> KernelsOf(const CpuFeatures& features);

// The fastest of each precision, float32 first.
std::vector<const ProductKernel*> FastestKernels(const CpuFeatures& features);

// The fastest of a precision; null where the CPU has none.
const ProductKernel* KernelFor(std::string_view precision, const CpuFeatures& features);

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_KERNEL_CHOICE_H_
