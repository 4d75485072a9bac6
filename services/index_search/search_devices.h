// The devices that a server's shards are searched on, and what it has taken of their memory.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_DEVICES_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_DEVICES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/api/server_status.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/device/loss_watch.h"
#include "common/generations/held_device.h"
#include "common/index/device_scan.h"
#include "common/index/index_kind.h"
#include "common/metrics/metrics.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct SearchDeviceOptions {
  std::shared_ptr<const ScanDevices> devices;  // null: everything is searched on the CPU
  std::vector<int> numbers;                    // of those that are used; some if there are devices
  // Whether an index whose kind has no form for devices is refused, rather than searched on the
  // CPU.
  bool required = false;
  int64_t memory_limit = 0;  // that is used of each; 0: nine tenths of what it has
};

// Thread-safe.
class SearchDevices {
 public:
  // `metrics` may be null; `on_lost` is that of device::LossWatch.
  SearchDevices(const SearchDeviceOptions& options, MetricsRegistry* metrics,
                std::function<void(const absl::Status& why)> on_lost = nullptr);

  // Whether indexes of the kind are on devices.
  bool Take(const IndexKind& kind) const {
    return options_.devices != nullptr && kind.on_device != nullptr;
  }
  bool required() const { return options_.required; }

  // Where the shard is that comes after `before` others of those that a server holds.
  int NumberOf(int before) const;

  // Bytes that may be used of a device.  Errors as ScanDevices::Describe.
  absl::StatusOr<int64_t> Limit(int device);

  struct Opened {
    // Outlives the index: until it goes, what that takes of the device counts as held.
    std::shared_ptr<const void> memory;
    int64_t device_bytes = 0;
    std::unique_ptr<VectorIndex> index;
  };
  // The index of shard `shard` of `manifest`, of a kind that Take takes, as DeviceForm::open.
  // FailedPrecondition (NOT_ON_DEVICE) for rows that cannot be there.
  absl::StatusOr<Opened> Open(const IndexKind& kind, absl::string_view directory,
                              const bundle::v1::GenerationManifest& manifest, int shard,
                              const VectorView& vectors, int device, ComputePool* pool,
                              const CallContext& call);

  // As far as they are known by now.
  std::vector<DeviceStatus> Describe() const;

 private:
  // As ScanDevices::Load, and tells `losses_` of it.
  absl::StatusOr<std::unique_ptr<DeviceScan>> Load(const VectorView& vectors,
                                                   absl::Span<const int32_t> order, int device,
                                                   const CallContext& call);

  const SearchDeviceOptions options_;
  device::LossWatch losses_;
  std::map<int, std::shared_ptr<HeldDevice>> held_;  // by number
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_DEVICES_H_
