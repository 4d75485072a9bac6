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
#include "common/api/server_status.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/mutex.h"
#include "common/device/device_info.h"
#include "common/device/loss_watch.h"
#include "common/index/device_scan.h"
#include "common/index/index_kind.h"
#include "common/metrics/metrics.h"

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
  bool Take(const IndexKind& kind) const { return options_.devices != nullptr && kind.exact; }
  bool required() const { return options_.required; }

  // Where the shard is that comes after `before` others of those that a server holds.
  int NumberOf(int before) const;

  // Bytes that may be used of a device.  Errors as ScanDevices::Describe.
  absl::StatusOr<int64_t> Limit(int device);

  struct Opened {
    // Outlives the index: until it goes, what that takes of the device counts as held.
    std::shared_ptr<const void> memory;
    std::unique_ptr<VectorIndex> index;
  };
  // An exact index of rows, which outlive it, as does `pool`.  FailedPrecondition (NOT_ON_DEVICE)
  // for rows that cannot be there; else errors as ScanDevices::Load.
  absl::StatusOr<Opened> Open(const VectorView& vectors, int device, ComputePool* pool,
                              const CallContext& call);

  // As far as they are known by now.
  std::vector<DeviceStatus> Describe() const;

 private:
  struct Tally;

  const SearchDeviceOptions options_;
  device::LossWatch losses_;
  std::map<int, std::shared_ptr<Tally>> tallies_;  // by number
  mutable Mutex mutex_;
  std::map<int, device::DeviceInfo> known_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_DEVICES_H_
