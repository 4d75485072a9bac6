#include "services/index_search/search_devices.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"

namespace sightline {

// What is held of a device.
struct SearchDevices::Tally {
  std::atomic<int64_t> bytes{0};
  Gauge gauge;

  void Add(int64_t more) {
    bytes += more;
    gauge.Add(static_cast<double>(more));
  }
};

SearchDevices::SearchDevices(const SearchDeviceOptions& options, MetricsRegistry* metrics,
                             std::function<void(const absl::Status& why)> on_lost)
    : options_(options), losses_(std::move(on_lost)) {
  for (const int number : options.numbers) {
    auto tally = std::make_shared<Tally>();
    if (metrics != nullptr) {
      tally->gauge =
          metrics->AddGauge("device_held_bytes", "Memory of a device that generations take.",
                            {{"device", absl::StrCat(number)}});
    }
    tallies_.emplace(number, std::move(tally));
  }
}

int SearchDevices::NumberOf(int before) const {
  return options_.numbers[static_cast<size_t>(before) % options_.numbers.size()];
}

absl::StatusOr<int64_t> SearchDevices::Limit(int device) {
  MutexLock lock(mutex_);
  auto known = known_.find(device);
  if (known == known_.end()) {
    ASSIGN_OR_RETURN(device::DeviceInfo described, options_.devices->Describe(device));
    known = known_.emplace(device, std::move(described)).first;
  }
  return options_.memory_limit > 0 ? options_.memory_limit : known->second.memory_bytes / 10 * 9;
}

absl::StatusOr<SearchDevices::Opened> SearchDevices::Open(const VectorView& vectors, int device,
                                                          ComputePool* pool,
                                                          const CallContext& call) {
  absl::StatusOr<std::unique_ptr<DeviceScan>> scan = options_.devices->Load(vectors, device, call);
  if (absl::IsInvalidArgument(scan.status())) {
    return MakeError(reasons::kNotOnDevice, scan.status().message());
  }
  losses_.NoteLoad(device, scan.status());
  RETURN_IF_ERROR(scan.status());
  const int64_t bytes = (*scan)->byte_count().device;
  const std::shared_ptr<Tally> tally = tallies_.at(device);
  tally->Add(bytes);
  Opened opened;
  opened.memory =
      std::shared_ptr<const void>(tally.get(), [tally, bytes](const void*) { tally->Add(-bytes); });
  ASSIGN_OR_RETURN(opened.index, OpenDeviceFlatIndex(vectors, *std::move(scan), pool));
  return opened;
}

std::vector<DeviceStatus> SearchDevices::Describe() const {
  std::vector<DeviceStatus> described;
  MutexLock lock(mutex_);
  for (const auto& [number, tally] : tallies_) {
    DeviceStatus status;
    status.number = number;
    status.held_bytes = tally->bytes;
    const auto known = known_.find(number);
    if (known != known_.end()) {
      status.name = known->second.name;
      status.memory_bytes = known->second.memory_bytes;
    }
    described.push_back(std::move(status));
  }
  return described;
}

}  // namespace sightline
