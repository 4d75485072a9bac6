#include "common/models/device_passes.h"

namespace sightline {

DevicePassMetrics DevicePassMetrics::Make(MetricsRegistry* metrics, absl::string_view device) {
  const std::string number(device);
  const auto passes = [&](const char* launches) {
    return metrics->AddCounter("device_passes_total",
                               "Passes of models on a device, by whether their launches were "
                               "recorded before.",
                               {{"device", number}, {"launches", launches}});
  };
  const auto bytes = [&](const char* direction) {
    return metrics->AddCounter("device_copied_bytes_total",
                               "Bytes that passes of models copied to a device and from it.",
                               {{"device", number}, {"direction", direction}});
  };
  DevicePassMetrics made;
  made.seconds = metrics->AddHistogram(
      "device_pass_seconds",
      "Time of a model's pass on a device, with its copies and the passes it waited for.",
      LatencyBuckets(), {{"device", number}});
  made.recorded = passes("recorded");
  made.first = passes("first");
  made.bytes_in = bytes("in");
  made.bytes_out = bytes("out");
  return made;
}

void DevicePassMetrics::Note(const kernels::PassStats& pass, absl::Duration elapsed) const {
  seconds.Observe(elapsed);
  (pass.was_recorded ? recorded : first).Increment();
  bytes_in.Increment(static_cast<double>(pass.bytes_in));
  bytes_out.Increment(static_cast<double>(pass.bytes_out));
}

}  // namespace sightline
