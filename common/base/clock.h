// Time, injected.  Everything that measures, waits or expires asks a Clock, so that a
// test owns the time (tests/support/fake_clock.h) and never sleeps.
#ifndef SIGHTLINE_COMMON_BASE_CLOCK_H_
#define SIGHTLINE_COMMON_BASE_CLOCK_H_

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace sightline {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // The present moment.  Never jumps back: the real clock is steady, anchored to the
  // wall's time when the process started.
  virtual absl::Time Now() = 0;

  // Releases `lock`, waits until `cv` is notified or `deadline` has passed, and takes
  // the lock again.  Like std::condition_variable::wait_until it may wake for no
  // reason, so callers loop over their condition.
  virtual void WaitUntil(std::condition_variable& cv, std::unique_lock<std::mutex>& lock,
                         absl::Time deadline) = 0;

  // The process's real clock; never null, lives forever.
  static Clock* Real();
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_CLOCK_H_
