#include "common/kernels/kernel_choice.h"

#include "common/kernels/instruction_sets.h"

namespace sightline::kernels {
namespace {

struct KernelNeeds {
  const ProductKernel* kernel;
  // The feature without which it does not run; null for none.
  bool CpuFeatures::*feature;
};

// All that there are; of each precision the fastest first.
constexpr KernelNeeds kKernels[] = {
    {&kAvx512Float32, &CpuFeatures::avx512},
    {&kAvx2Float32, nullptr},
    {&kAmxBfloat16, &CpuFeatures::amx_bf16},
    {&kAvx512Bfloat16, &CpuFeatures::avx512_bf16},
    {&kAmxInt8, &CpuFeatures::amx_int8},
    {&kAvx512VnniInt8, &CpuFeatures::avx512_vnni},
    {&kAvx512Int8, &CpuFeatures::avx512},
    {&kAvxVnniInt8, &CpuFeatures::avx_vnni},
    {&kAvx2Int8, nullptr},
};

}  // namespace

std::vector<const ProductKernel*> KernelsOf(const CpuFeatures& features) {
  std::vector<const ProductKernel*> kernels;
  for (const KernelNeeds& needs : kKernels) {
    if (needs.feature == nullptr || features.*needs.feature) kernels.push_back(needs.kernel);
  }
  return kernels;
}

std::vector<const ProductKernel*> FastestKernels(const CpuFeatures& features) {
  std::vector<const ProductKernel*> fastest;
  for (const ProductKernel* kernel : KernelsOf(features)) {
    const std::string_view precision = kernel->precision;
    if (fastest.empty() || fastest.back()->precision != precision) fastest.push_back(kernel);
  }
  return fastest;
}

const ProductKernel* KernelFor(std::string_view precision, const CpuFeatures& features) {
  for (const ProductKernel* kernel : FastestKernels(features)) {
    if (kernel->precision == precision) return kernel;
  }
  return nullptr;
}

}  // namespace sightline::kernels
