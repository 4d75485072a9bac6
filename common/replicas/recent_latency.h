// How long the recent calls to some servers took.
#ifndef SIGHTLINE_COMMON_REPLICAS_RECENT_LATENCY_H_
#define SIGHTLINE_COMMON_REPLICAS_RECENT_LATENCY_H_

#include <vector>

#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace sightline {

// Thread-safe.
class RecentLatency {
 public:
  void Add(absl::Duration latency);

  // What 95 of 100 calls did not exceed; infinite while there have been too few to tell.
  absl::Duration p95() const;

 private:
  static constexpr size_t kKept = 256;
  static constexpr size_t kRefresh = 32;  // calls between two looks at all of them

  mutable Mutex mutex_;
  std::vector<absl::Duration> kept_ GUARDED_BY(mutex_);  // a ring once full
  size_t added_ GUARDED_BY(mutex_) = 0;
  absl::Duration p95_ GUARDED_BY(mutex_) = absl::InfiniteDuration();
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_REPLICAS_RECENT_LATENCY_H_
