// Notices when a device is lost for good.
#ifndef SIGHTLINE_COMMON_DEVICE_LOSS_WATCH_H_
#define SIGHTLINE_COMMON_DEVICE_LOSS_WATCH_H_

#include <functional>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "common/base/error_details.h"
#include "common/base/mutex.h"

namespace sightline::device {

// Thread-safe.
class LossWatch {
 public:
  // How many loads in a row fail then.
  static constexpr int kLostAfter = 3;

  // `on_lost` is told why, when a device that has worked is lost: what CUDA has lost no process
  // gets back but a new one.  May be null.
  explicit LossWatch(std::function<void(const absl::Status& why)> on_lost)
      : on_lost_(std::move(on_lost)) {}

  // What loading something to a device ended with.
  void NoteLoad(int device, const absl::Status& loaded) {
    {
      MutexLock lock(mutex_);
      if (loaded.ok()) failures_[device] = 0;
      const auto failures = failures_.find(device);
      if (failures == failures_.end() || !HasReason(loaded, reasons::kDeviceFailed)) return;
      if (++failures->second != kLostAfter) return;
    }
    if (on_lost_ != nullptr) on_lost_(loaded);
  }

 private:
  const std::function<void(const absl::Status& why)> on_lost_;
  Mutex mutex_;
  // Of devices that have worked: loads that failed since.
  std::map<int, int> failures_ GUARDED_BY(mutex_);
};

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_LOSS_WATCH_H_
