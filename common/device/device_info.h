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

// What was copied to a device and from it.
struct CopiedBytes {
  int64_t in = 0;
  int64_t out = 0;
};

// What somebody takes of a device's memory.
struct DeviceFootprint {
  int device = 0;  // its number in the machine
  int64_t bytes = 0;
  int64_t limit = 0;  // what may be used
};

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_DEVICE_INFO_H_
