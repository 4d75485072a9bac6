// Devices that are the host, as a server has those of CUDA.
#ifndef SIGHTLINE_TESTS_COMMON_KERNELS_HOST_STACK_DEVICES_H_
#define SIGHTLINE_TESTS_COMMON_KERNELS_HOST_STACK_DEVICES_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/device/device_info.h"
#include "common/device/host_device.h"
#include "common/device/product.h"
#include "common/kernels/device_block_stack.h"
#include "common/kernels/device_linear.h"
#include "common/kernels/device_row_products.h"
#include "common/kernels/device_stack.h"

namespace sightline::kernels {

// One device, number 0.
class HostStackDevices : public StackDevices {
 public:
  explicit HostStackDevices(int64_t memory_bytes = INT64_MAX)
      : device_(memory_bytes), memory_bytes_(memory_bytes) {}

  absl::StatusOr<device::DeviceInfo> Describe(int device) const override {
    if (device != 0) return Missing(device);
    return device::DeviceInfo{"Host", memory_bytes_};
  }

  absl::StatusOr<std::unique_ptr<DeviceStack>> New(const DeviceStackOptions& options,
                                                   int device) const override {
    if (device != 0) return Missing(device);
    return NewDeviceStack<device::HostDevice, device::PlainProducts>(*device_.NewStream(), options);
  }

  absl::StatusOr<std::unique_ptr<DeviceLinear>> NewLinear(const LinearWeights& weights,
                                                          const DeviceLinearOptions& options,
                                                          int device) const override {
    if (device != 0) return Missing(device);
    return DeviceRowProducts<device::HostDevice, device::PlainProducts>::Make(device_, weights,
                                                                              options);
  }

  // It would take minutes.
  bool want_warm_up() const override { return false; }

  // Another handle of the device.
  device::HostDevice device() const { return device_; }

 private:
  static absl::Status Missing(int device) {
    return MakeError(reasons::kDeviceFailed, absl::StrCat("there is no device ", device));
  }

  const device::HostDevice device_;
  const int64_t memory_bytes_;
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_TESTS_COMMON_KERNELS_HOST_STACK_DEVICES_H_
