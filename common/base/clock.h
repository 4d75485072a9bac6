// Time, injected.  Everything that measures, waits or expires asks a Clock, so that a
// test owns the time (tests/support/fake_clock.h) and never sleeps.
#ifndef SIGHTLINE_COMMON_BASE_CLOCK_H_
#define SIGHTLINE_COMMON_BASE_CLOCK_H_

#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace sightline {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // The present moment.  Never jumps back: the real clock is steady, anchored to the
  // wall's time when the process started.
  virtual absl::Time Now() = 0;

  // Lets go of `mutex`, waits until `cv` is notified or `deadline` has passed, and takes
  // the mutex again.  Like CondVar::Wait it may wake for no reason, so callers loop over
  // their condition.
  virtual void WaitUntil(CondVar& cv, Mutex& mutex, absl::Time deadline) REQUIRES(mutex) = 0;

  // Returns once the clock shows `when`; at once if it does already.
  void SleepUntil(absl::Time when);

  // The process's real clock; never null, lives forever.
  static Clock* Real();
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_CLOCK_H_
