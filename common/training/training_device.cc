#include "common/training/training_device.h"

#include <ATen/Parallel.h>
#include <torch/cuda.h>

#include "absl/strings/str_cat.h"
#include "common/models/network/autocast.h"

// Declared here: <cblas.h> of Debian's alternatives may be another BLAS's.
extern "C" void openblas_set_num_threads(int threads);

namespace sightline {

absl::StatusOr<c10::Device> TrainingDeviceOf(const std::string& name) {
  const bool has_gpu = torch::cuda::is_available();
  UseFloat32OnDevices();
  if (name == "auto") return has_gpu ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU);
  try {
    const c10::Device device(name);
    if (device.is_cpu()) return device;
    if (device.is_cuda() && has_gpu && device.index() < torch::cuda::device_count()) {
      return device.has_index() ? device : c10::Device(c10::kCUDA, 0);
    }
  } catch (const c10::Error&) {
    // No device's name; told below.
  }
  return absl::InvalidArgumentError(
      absl::StrCat("device '", name, "' is not here; LibTorch has cpu",
                   has_gpu ? absl::StrCat(" and cuda:0 to cuda:", torch::cuda::device_count() - 1)
                           : std::string(" only")));
}

void UseTrainingThreads(int threads) {
  if (threads == 0) return;
  at::set_num_threads(threads);
  // Has threads of its own, and splits its sums by their number.
  openblas_set_num_threads(threads);
}

}  // namespace sightline
