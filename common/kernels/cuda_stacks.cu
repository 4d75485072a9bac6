// Stacks of transformer blocks, and layers before them, on devices of CUDA.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/device/block.h"
#include "common/device/cuda_device.h"
#include "common/device/cuda_products.h"
#include "common/kernels/device_block_stack.h"
#include "common/kernels/device_linear.h"
#include "common/kernels/device_row_products.h"
#include "common/kernels/device_stack.h"

namespace sightline::kernels {
namespace {

class CudaStacks : public StackDevices {
 public:
  absl::StatusOr<device::DeviceInfo> Describe(int device) const override {
    return device::CudaDevice::Describe(device);
  }

  absl::StatusOr<std::unique_ptr<DeviceStack>> New(const DeviceStackOptions& options,
                                                   int device) const override {
    ASSIGN_OR_RETURN(auto opened, device::CudaDevice::Open(device));
    return NewDeviceStack<device::CudaDevice, device::CudaProducts>(std::move(opened), options);
  }

  absl::StatusOr<std::unique_ptr<DeviceLinear>> NewLinear(const LinearWeights& weights,
                                                          const DeviceLinearOptions& options,
                                                          int device) const override {
    ASSIGN_OR_RETURN(const auto opened, device::CudaDevice::Open(device));
    return DeviceRowProducts<device::CudaDevice, device::CudaProducts>::Make(opened, weights,
                                                                             options);
  }
};

}  // namespace

absl::StatusOr<std::shared_ptr<const StackDevices>> CudaStackDevices() {
  return std::make_shared<const CudaStacks>();
}

}  // namespace sightline::kernels
