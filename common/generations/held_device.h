// A device that a server's generations take memory of and are computed on: how much of it may be
// taken and is, and what it has done.
#ifndef SIGHTLINE_COMMON_GENERATIONS_HELD_DEVICE_H_
#define SIGHTLINE_COMMON_GENERATIONS_HELD_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/api/server_status.h"
#include "common/base/mutex.h"
#include "common/device/device_info.h"
#include "common/device/pass_watch.h"
#include "common/metrics/metrics.h"

namespace sightline {

// Thread-safe.  Lines of the metrics page, all with the label device="<number>":
//
//   device_held_bytes                                   memory that is held
//   device_pass_seconds, device_wait_seconds            of passes that did not fail
//   device_passes_total{launches="recorded"|"single"|"never"}   likewise; never: of passes of a
//   kind
//                                                               that nobody records
//   device_copied_bytes_total{direction="in"|"out"}     likewise
class HeldDevice : public device::PassWatch, public std::enable_shared_from_this<HeldDevice> {
 public:
  using Describe = std::function<absl::StatusOr<device::DeviceInfo>()>;

  // `memory_limit`: what may be taken of it; 0: nine tenths of what it has.  `metrics` outlives it;
  // null for none.
  static std::shared_ptr<HeldDevice> Make(int number, int64_t memory_limit, Describe describe,
                                          MetricsRegistry* metrics);

  int number() const { return number_; }

  // Bytes that may be taken.  Asks for what the device is, once that succeeds never again; errors
  // as asking for it.
  absl::StatusOr<int64_t> Limit() EXCLUDES(mutex_);

  // Counts so many bytes as held until what it returns goes.
  std::shared_ptr<const void> Hold(int64_t bytes);

  void Ended(const device::PassStats* pass) override EXCLUDES(mutex_);

  DeviceStatus Status() const EXCLUDES(mutex_);

 private:
  HeldDevice(int number, int64_t memory_limit, Describe describe, MetricsRegistry* metrics);

  void Add(int64_t bytes) EXCLUDES(mutex_);

  const int number_;
  const int64_t memory_limit_;
  const Describe describe_;
  Gauge held_;
  Histogram pass_seconds_, wait_seconds_;
  Counter recorded_, single_, never_, bytes_in_, bytes_out_;

  mutable Mutex mutex_;
  absl::optional<device::DeviceInfo> info_ GUARDED_BY(mutex_);
  int64_t held_bytes_ GUARDED_BY(mutex_) = 0;
  DeviceWork work_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_HELD_DEVICE_H_
