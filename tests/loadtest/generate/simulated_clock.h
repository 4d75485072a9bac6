// Time that passes only when somebody waits, at once: a discrete-event simulation.
//
//   SimulatedClock clock;
//   clock.At(clock.Now() + absl::Seconds(1), [] { ... });
//
// For code under test that has one thread of its own: the test's.  Events run on that
// thread, inside its wait, without the lock that it waits with, in order of time and, at one
// time, of scheduling.
#ifndef SIGHTLINE_TESTS_LOADTEST_GENERATE_SIMULATED_CLOCK_H_
#define SIGHTLINE_TESTS_LOADTEST_GENERATE_SIMULATED_CLOCK_H_

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "tests/support/catch.h"

namespace sightline {

class SimulatedClock : public Clock {
 public:
  absl::Time Now() override { return now_; }

  void At(absl::Time time, std::function<void()> event) {
    events_.emplace(std::max(time, now_), std::move(event));
  }

  // One event, or `deadline` if none comes before it.
  void WaitUntil(CondVar&, Mutex& mutex, absl::Time deadline) REQUIRES(mutex) override {
    const auto next = events_.begin();
    if (next == events_.end() || next->first > deadline) {
      REQUIRE(deadline != absl::InfiniteFuture());  // nothing would ever end this wait
      now_ = std::max(now_, deadline);
      return;
    }
    now_ = next->first;
    const std::function<void()> event = std::move(next->second);
    events_.erase(next);
    mutex.Unlock();
    event();
    mutex.Lock();
  }

 private:
  absl::Time now_ = absl::FromUnixSeconds(1'000'000'000);
  std::multimap<absl::Time, std::function<void()>> events_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_LOADTEST_GENERATE_SIMULATED_CLOCK_H_
