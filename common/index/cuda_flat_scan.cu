// The scan of rows on a device of CUDA.
#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/device/cuda_device.h"
#include "common/index/device_flat_scan.h"

namespace sightline {

absl::StatusOr<std::unique_ptr<DeviceScan>> LoadCudaScan(const VectorView& vectors, int device,
                                                         const CallContext& call) {
  ASSIGN_OR_RETURN(auto opened, device::CudaDevice::Open(device));
  return DeviceFlatScan<device::CudaDevice>::Load(std::move(opened), vectors, call);
}

}  // namespace sightline
