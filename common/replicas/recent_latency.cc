#include "common/replicas/recent_latency.h"

#include <algorithm>

namespace sightline {

void RecentLatency::Add(absl::Duration latency) {
  MutexLock lock(mutex_);
  if (kept_.size() < kKept) {
    kept_.push_back(latency);
  } else {
    kept_[added_ % kKept] = latency;
  }
  if (++added_ % kRefresh != 0) return;
  std::vector<absl::Duration> sorted = kept_;
  const auto nth = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() * 95 / 100);
  std::nth_element(sorted.begin(), nth, sorted.end());
  p95_ = *nth;
}

absl::Duration RecentLatency::p95() const {
  MutexLock lock(mutex_);
  return p95_;
}

}  // namespace sightline
