// Passes on a device: how large they are, and what the metrics page shows of them.
#ifndef SIGHTLINE_COMMON_MODELS_DEVICE_PASSES_H_
#define SIGHTLINE_COMMON_MODELS_DEVICE_PASSES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/kernels/device_stack.h"
#include "common/metrics/metrics.h"

namespace sightline {

// The most rows of a pass: enough to keep a device busy, while others wait for some milliseconds.
inline constexpr int64_t kDevicePassRows = 8192;

// A transformer in that precision, as executors make it.
inline kernels::DeviceStackOptions StackOptionsOf(const kernels::StackShape& shape,
                                                  int64_t block_count,
                                                  const std::string& precision) {
  return {shape, block_count, precision, {kDevicePassRows, kDevicePassRows}};
}

// All with the label device="<number>".  A value; one made by default counts nothing.
struct DevicePassMetrics {
  Histogram seconds;  // device_pass_seconds: of a pass, its copies and who was before it
  Counter recorded;   // device_passes_total{launches="recorded"}
  Counter first;      // and {launches="first"}: of a size that there was not before
  Counter bytes_in;   // device_copied_bytes_total{direction="in"}
  Counter bytes_out;  // and {direction="out"}

  static DevicePassMetrics Make(MetricsRegistry* metrics, absl::string_view device);

  void Note(const kernels::PassStats& pass, absl::Duration elapsed) const;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_DEVICE_PASSES_H_
