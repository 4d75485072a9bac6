// What devices of CUDA do at most.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/base/status_macros.h"
#include "common/device/block.h"
#include "common/device/ceilings.h"
#include "common/device/cuda_device.h"
#include "common/device/cuda_products.h"
#include "common/device/device_array.h"

namespace sightline::device {
namespace {

constexpr int64_t kCopiedBytes = int64_t{2} << 30;
constexpr int kSide = 8192;
// Of which the fastest is told, after one that is not: caches and clocks are then as they will be.
constexpr int kRounds = 10;

template <typename Ask>
absl::StatusOr<double> FastestSeconds(CudaDevice* device, const Ask& ask) {
  double fastest = 1e9;
  for (int i = 0; i <= kRounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(ask());
    RETURN_IF_ERROR(device->Wait());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (i > 0) fastest = std::min(fastest, taken.count());
  }
  return fastest;
}

absl::StatusOr<double> CopiedBytesPerSecond(CudaDevice* device) {
  DeviceArray<CudaDevice, char> from, to;
  RETURN_IF_ERROR(from.Reserve(device, kCopiedBytes));
  RETURN_IF_ERROR(to.Reserve(device, kCopiedBytes));
  RETURN_IF_ERROR(device->Clear(from.data(), kCopiedBytes));
  ASSIGN_OR_RETURN(const double seconds, FastestSeconds(device, [&] {
                     return StatusOf(cudaMemcpyAsync(to.data(), from.data(), kCopiedBytes,
                                                     cudaMemcpyDeviceToDevice, device->stream()),
                                     "copying on the device");
                   }));
  return 2.0 * kCopiedBytes / seconds;
}

// Numbers from -1 to 1: a product of zeros would take less power, and be faster.
std::vector<Bfloat16> MadeUpNumbers(int64_t count) {
  std::vector<Bfloat16> numbers(count);
  uint32_t state = 1;
  for (Bfloat16& number : numbers) {
    state = state * 1664525u + 1013904223u;
    const float value = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    number.bits = static_cast<uint16_t>(bits >> 16);
  }
  return numbers;
}

absl::StatusOr<double> ProductOperationsPerSecond(CudaDevice* device) {
  constexpr int64_t kNumbers = int64_t{kSide} * kSide;
  const std::vector<Bfloat16> numbers = MadeUpNumbers(kNumbers);
  DeviceArray<CudaDevice, Bfloat16> in, weights, bias, out;
  for (auto* matrix : {&in, &weights, &out}) RETURN_IF_ERROR(matrix->Reserve(device, kNumbers));
  RETURN_IF_ERROR(bias.Reserve(device, kSide));
  for (auto* matrix : {&in, &weights}) {
    RETURN_IF_ERROR(device->CopyIn(matrix->data(), numbers.data(),
                                   DeviceArray<CudaDevice, Bfloat16>::Bytes(kNumbers)));
  }
  RETURN_IF_ERROR(device->Clear(bias.data(), kSide * static_cast<int64_t>(sizeof(Bfloat16))));
  RETURN_IF_ERROR(device->Wait());
  ASSIGN_OR_RETURN(CudaProducts products, CudaProducts::Open(device));
  const DeviceProduct<Bfloat16> product = {in.data(), weights.data(), bias.data(), kSide,
                                           kSide,     kSide,          out.data()};
  ASSIGN_OR_RETURN(const double seconds,
                   FastestSeconds(device, [&] { return products.Multiply(device, product); }));
  return 2.0 * kSide * kSide * kSide / seconds;
}

}  // namespace

absl::StatusOr<Ceilings> MeasureCudaCeilings(int device) {
  ASSIGN_OR_RETURN(CudaDevice opened, CudaDevice::Open(device));
  Ceilings ceilings;
  ASSIGN_OR_RETURN(ceilings.copied_bytes_per_second, CopiedBytesPerSecond(&opened));
  ASSIGN_OR_RETURN(ceilings.product_operations_per_second, ProductOperationsPerSecond(&opened));
  return ceilings;
}

}  // namespace sightline::device
