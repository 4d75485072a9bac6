// A device as its maker describes it.
#ifndef SIGHTLINE_COMMON_DEVICE_DEVICE_INFO_H_
#define SIGHTLINE_COMMON_DEVICE_DEVICE_INFO_H_

#include <cstdint>
#include <string>

namespace sightline::device {

struct DeviceInfo {
  std::string name;
  int64_t memory_bytes = 0;
};

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_DEVICE_INFO_H_
