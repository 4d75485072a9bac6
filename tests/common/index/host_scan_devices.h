// Devices that are the host, as a server has those of CUDA.
#ifndef SIGHTLINE_TESTS_COMMON_INDEX_HOST_SCAN_DEVICES_H_
#define SIGHTLINE_TESTS_COMMON_INDEX_HOST_SCAN_DEVICES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/device/device_info.h"
#include "common/device/host_device.h"
#include "common/device/product.h"
#include "common/index/device_flat_scan.h"
#include "common/index/device_scan.h"

namespace sightline {

class HostScanDevices : public ScanDevices {
 public:
  // As many as there are sizes of their memory.
  explicit HostScanDevices(const std::vector<int64_t>& memory_bytes) {
    for (const int64_t bytes : memory_bytes) devices_.push_back({device::HostDevice(bytes), bytes});
  }

  absl::StatusOr<device::DeviceInfo> Describe(int device) const override {
    if (device >= static_cast<int>(devices_.size())) return Missing(device);
    return device::DeviceInfo{"Host", devices_[device].bytes};
  }

  absl::StatusOr<std::unique_ptr<DeviceScan>> Load(const VectorView& vectors,
                                                   absl::Span<const int32_t> order, int device,
                                                   const CallContext& call) const override {
    if (device >= static_cast<int>(devices_.size())) return Missing(device);
    return DeviceFlatScan<device::HostDevice, device::PlainProducts>::Load(devices_[device].device,
                                                                           vectors, call, order);
  }

  // Another handle of the device.
  device::HostDevice device(int number) const { return devices_[number].device; }

 private:
  struct Numbered {
    device::HostDevice device;
    int64_t bytes;
  };

  static absl::Status Missing(int device) {
    return MakeError(reasons::kDeviceFailed, absl::StrCat("there is no device ", device));
  }

  std::vector<Numbered> devices_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_INDEX_HOST_SCAN_DEVICES_H_
