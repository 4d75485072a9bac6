// What stands for devices of CUDA in a program that was built without.
#include <memory>

#include "absl/status/statusor.h"
#include "common/kernels/device_stack.h"

namespace sightline::kernels {

absl::StatusOr<std::shared_ptr<const StackDevices>> CudaStackDevices() {
  return absl::FailedPreconditionError(
      "this program was built without CUDA; one for GPUs is built with --config=cuda");
}

}  // namespace sightline::kernels
