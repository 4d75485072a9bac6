// A clock that stands still until the test moves it, so that no test sleeps.
//
//   FakeClock clock;
//   Thing thing(&clock);                    // its thread waits in clock.WaitUntil
//   clock.AwaitSleepers(1);                 // ... and now it really does
//   clock.Advance(absl::Milliseconds(50));  // wakes it if its deadline has come
//
// Advancing only starts the awakened threads; wait for what they do by an event of
// theirs (tests/support/gate.h), not by AwaitSleepers: a thread that somebody
// else has notified counts as a sleeper until it runs.
#ifndef SIGHTLINE_TESTS_SUPPORT_FAKE_CLOCK_H_
#define SIGHTLINE_TESTS_SUPPORT_FAKE_CLOCK_H_

#include <list>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace sightline {

// Thread-safe.  Outlives everything that waits on it.
class FakeClock : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'000'000'000)) : now_(start) {}

  absl::Time Now() override;

  // Waits for a notification of `cv` or for the clock to be moved to `deadline`; never
  // for real time to pass.
  void WaitUntil(CondVar& cv, Mutex& mutex, absl::Time deadline) REQUIRES(mutex) override;

  // Moves the clock and wakes the threads whose deadline has come.  The caller must not
  // hold a mutex that one of them waits with.
  void Advance(absl::Duration by);

  // The same, to a moment; one that lies in the past changes nothing.
  void SetTime(absl::Time now);

  // Blocks until at least `count` threads are in WaitUntil with a deadline still to come
  // (absl::InfiniteFuture() included).
  void AwaitSleepers(int count);

 private:
  struct Sleeper {
    CondVar* cv;
    Mutex* mutex;
    absl::Time deadline;
    bool due = false;  // the clock has reached the deadline
    int wakers = 0;    // calls of SetTime that are about to touch cv and mutex
  };

  // Never held while a sleeper's mutex is being locked: sleepers lock theirs first.
  Mutex mutex_;
  CondVar changed_;  // sleepers_ or their fields
  absl::Time now_ GUARDED_BY(mutex_);
  std::list<Sleeper> sleepers_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_FAKE_CLOCK_H_
