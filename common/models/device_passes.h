// How large the passes of models on a device are.
#ifndef SIGHTLINE_COMMON_MODELS_DEVICE_PASSES_H_
#define SIGHTLINE_COMMON_MODELS_DEVICE_PASSES_H_

#include <cstdint>
#include <string>

#include "common/kernels/device_stack.h"

namespace sightline {

// The most rows of a pass: enough to keep a device busy, while others wait for some milliseconds.
inline constexpr int64_t kDevicePassRows = 8192;

// A transformer in that precision, as executors make it.
inline kernels::DeviceStackOptions StackOptionsOf(const kernels::StackShape& shape,
                                                  int64_t block_count,
                                                  const std::string& precision) {
  return {shape, block_count, precision, {kDevicePassRows, kDevicePassRows}, nullptr};
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_DEVICE_PASSES_H_
