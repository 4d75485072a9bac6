#include "common/training/training_device.h"

#include <ATen/Parallel.h>
#include <torch/cuda.h>

#include "absl/strings/str_cat.h"
#include "common/models/network/autocast.h"

// Declared here: <cblas.h> of Debian's alternatives may be another BLAS's.
extern "C" void openblas_set_num_threads(int threads);

namespace sightline {

absl::StatusOr<c10::Device> TrainingDeviceOf(const std::string& name, int local_rank) {
  UseFloat32OnDevices();
  const bool has_gpu = torch::cuda::is_available();
  return DeviceAmong(name, local_rank, has_gpu ? static_cast<int>(torch::cuda::device_count()) : 0);
}

absl::StatusOr<c10::Device> DeviceAmong(const std::string& name, int local_rank, int gpu_count) {
  if (name == "auto" && gpu_count == 0) return c10::Device(c10::kCPU);
  try {
    const c10::Device device(name == "auto" ? "cuda" : name);
    if (device.is_cpu()) return device;
    const int gpu = device.has_index() ? device.index() : local_rank;
    if (device.is_cuda() && gpu < gpu_count) {
      return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(gpu));
    }
    if (device.is_cuda() && !device.has_index() && gpu_count > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("process ", local_rank,
                       " of this machine, counted from 0, has no GPU of its own; "
                       "LibTorch has ",
                       gpu_count,
                       ". Start as many processes as there are, or name one that all "
                       "share, as cuda:0"));
    }
  } catch (const c10::Error&) {
    // No device's name; told below.
  }
  const std::string gpus =
      gpu_count > 0 ? absl::StrCat(" and cuda:0 to cuda:", gpu_count - 1) : " only";
  return absl::InvalidArgumentError(
      absl::StrCat("device '", name, "' is not here; LibTorch has cpu", gpus));
}

void UseTrainingThreads(int threads) {
  if (threads == 0) return;
  at::set_num_threads(threads);
  // Has threads of its own, and splits its sums by their number.
  openblas_set_num_threads(threads);
}

}  // namespace sightline
