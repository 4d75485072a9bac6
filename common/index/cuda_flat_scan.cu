// Scans of rows on devices of CUDA.
#include <cstdint>
#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/device/cuda_device.h"
#include "common/device/cuda_products.h"
#include "common/index/device_flat_scan.h"
#include "common/index/device_scan.h"

namespace sightline {
namespace {

class CudaDevices : public ScanDevices {
 public:
  absl::StatusOr<device::DeviceInfo> Describe(int device) const override {
    return device::CudaDevice::Describe(device);
  }

  absl::StatusOr<std::unique_ptr<DeviceScan>> Load(const VectorView& vectors,
                                                   absl::Span<const int32_t> order, int device,
                                                   const CallContext& call) const override {
    ASSIGN_OR_RETURN(auto opened, device::CudaDevice::Open(device));
    return DeviceFlatScan<device::CudaDevice, device::CudaProducts>::Load(std::move(opened),
                                                                          vectors, call, order);
  }
};

}  // namespace

absl::StatusOr<std::shared_ptr<const ScanDevices>> CudaScanDevices() {
  return std::make_shared<const CudaDevices>();
}

}  // namespace sightline
