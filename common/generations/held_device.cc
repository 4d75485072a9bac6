#include "common/generations/held_device.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {

std::shared_ptr<HeldDevice> HeldDevice::Make(int number, int64_t memory_limit, Describe describe,
                                             MetricsRegistry* metrics) {
  return std::shared_ptr<HeldDevice>(
      new HeldDevice(number, memory_limit, std::move(describe), metrics));
}

HeldDevice::HeldDevice(int number, int64_t memory_limit, Describe describe,
                       MetricsRegistry* metrics)
    : number_(number), memory_limit_(memory_limit), describe_(std::move(describe)) {
  if (metrics == nullptr) return;
  const std::string device = absl::StrCat(number);
  held_ = metrics->AddGauge("device_held_bytes", "Memory of a device that generations take.",
                            {{"device", device}});
  pass_seconds_ = metrics->AddHistogram(
      "device_pass_seconds", "Time of a pass on a device, with its copies and what it waited for.",
      LatencyBuckets(), {{"device", device}});
  wait_seconds_ = metrics->AddHistogram("device_wait_seconds",
                                        "Time that a pass waited for passes of others to end.",
                                        LatencyBuckets(), {{"device", device}});
  const auto passes = [&](const char* launches) {
    return metrics->AddCounter("device_passes_total",
                               "Passes on a device, by whether their launches were recorded before "
                               "or asked for one by one, as those that are never recorded are.",
                               {{"device", device}, {"launches", launches}});
  };
  recorded_ = passes("recorded");
  single_ = passes("single");
  never_ = passes("never");
  const auto bytes = [&](const char* direction) {
    return metrics->AddCounter("device_copied_bytes_total",
                               "Bytes that passes copied to a device and from it.",
                               {{"device", device}, {"direction", direction}});
  };
  bytes_in_ = bytes("in");
  bytes_out_ = bytes("out");
}

absl::StatusOr<int64_t> HeldDevice::Limit() {
  MutexLock lock(mutex_);
  if (!info_.has_value()) {
    ASSIGN_OR_RETURN(info_, describe_());
  }
  return memory_limit_ > 0 ? memory_limit_ : info_->memory_bytes / 10 * 9;
}

std::shared_ptr<const void> HeldDevice::Hold(int64_t bytes) {
  Add(bytes);
  return std::shared_ptr<const void>(
      this, [device = shared_from_this(), bytes](const void*) { device->Add(-bytes); });
}

void HeldDevice::Add(int64_t bytes) {
  held_.Add(static_cast<double>(bytes));
  MutexLock lock(mutex_);
  held_bytes_ += bytes;
}

void HeldDevice::Ended(const device::PassStats* pass) {
  if (pass == nullptr) return;
  pass_seconds_.Observe(pass->took);
  wait_seconds_.Observe(pass->waited);
  (pass->was_recorded ? recorded_ : pass->can_be_recorded ? single_ : never_).Increment();
  bytes_in_.Increment(static_cast<double>(pass->bytes_in));
  bytes_out_.Increment(static_cast<double>(pass->bytes_out));
  MutexLock lock(mutex_);
  ++work_.pass_count;
  if (pass->was_recorded) ++work_.recorded_count;
  work_.took += pass->took;
  work_.waited += pass->waited;
  work_.bytes_in += pass->bytes_in;
  work_.bytes_out += pass->bytes_out;
}

DeviceStatus HeldDevice::Status() const {
  DeviceStatus status;
  status.number = number_;
  MutexLock lock(mutex_);
  status.held_bytes = held_bytes_;
  status.work = work_;
  if (info_.has_value()) {
    status.name = info_->name;
    status.memory_bytes = info_->memory_bytes;
  }
  return status;
}

}  // namespace sightline
