// Memory of a device, and memory of the host that is copied from and to.
#ifndef SIGHTLINE_COMMON_DEVICE_DEVICE_ARRAY_H_
#define SIGHTLINE_COMMON_DEVICE_DEVICE_ARRAY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/status_macros.h"

namespace sightline::device {

// Memory of a device, which outlives it, given back with this.
template <typename Device, typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  ~DeviceArray() {
    if (device_ != nullptr) device_->Free(data_, Bytes(count_));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  static int64_t Bytes(int64_t count) { return count * static_cast<int64_t>(sizeof(T)); }

  // Once, for `count` >= 1.
  absl::Status Reserve(Device* device, int64_t count) {
    ASSIGN_OR_RETURN(void* const memory, device->Allocate(Bytes(count)));
    device_ = device;
    data_ = static_cast<T*>(memory);
    count_ = count;
    return absl::OkStatus();
  }

  // Likewise, for `numbers`, of which there is one at least; they have been copied when it returns.
  absl::Status ReserveCopy(Device* device, const std::vector<T>& numbers) {
    RETURN_IF_ERROR(Reserve(device, static_cast<int64_t>(numbers.size())));
    const absl::Status asked = device->CopyIn(data_, numbers.data(), Bytes(count_));
    // In any case: the numbers go with the caller.
    const absl::Status done = device->Wait();
    RETURN_IF_ERROR(asked);
    return done;
  }

  T* data() const { return data_; }
  int64_t count() const { return count_; }

 private:
  Device* device_ = nullptr;
  T* data_ = nullptr;
  int64_t count_ = 0;
};

// Likewise of the host, for copies.
template <typename Device, typename T>
class HostArray {
 public:
  HostArray() = default;
  ~HostArray() {
    if (device_ != nullptr) device_->FreeOnHost(data_);
  }
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;

  absl::Status Reserve(Device* device, int64_t count) {
    ASSIGN_OR_RETURN(void* const memory,
                     device->AllocateOnHost(count * static_cast<int64_t>(sizeof(T))));
    device_ = device;
    data_ = static_cast<T*>(memory);
    return absl::OkStatus();
  }

  T* data() const { return data_; }

 private:
  Device* device_ = nullptr;
  T* data_ = nullptr;
};

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_DEVICE_ARRAY_H_
