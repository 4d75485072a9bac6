// What stands for devices of CUDA in a program that was built without.
#include <memory>

#include "absl/status/statusor.h"
#include "common/index/device_scan.h"

namespace sightline {

absl::StatusOr<std::shared_ptr<const ScanDevices>> CudaScanDevices() {
  return absl::FailedPreconditionError(
      "this program was built without CUDA; one for GPUs is built with --config=cuda");
}

}  // namespace sightline
