#include "common/base/clock.h"

#include <algorithm>
#include <chrono>

#include "absl/time/clock.h"

namespace sightline {
namespace {

class RealClock : public Clock {
 public:
  RealClock() : wall_anchor_(absl::Now()), steady_anchor_(std::chrono::steady_clock::now()) {}

  absl::Time Now() override {
    return wall_anchor_ + absl::FromChrono(std::chrono::steady_clock::now() - steady_anchor_);
  }

  void WaitUntil(CondVar& cv, Mutex& mutex, absl::Time deadline) REQUIRES(mutex) override {
    if (deadline == absl::InfiniteFuture()) {
      cv.Wait(mutex);
      return;
    }
    const absl::Duration left = deadline - Now();
    if (left <= absl::ZeroDuration()) return;
    // A day at a time keeps the arithmetic of far deadlines inside the clock's range.
    cv.WaitFor(mutex, absl::ToChronoNanoseconds(std::min(left, absl::Hours(24))));
  }

 private:
  const absl::Time wall_anchor_;
  const std::chrono::steady_clock::time_point steady_anchor_;
};

}  // namespace

void Clock::SleepUntil(absl::Time when) {
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  while (Now() < when) WaitUntil(never, mutex, when);
}

Clock* Clock::Real() {
  static RealClock* const clock = new RealClock;
  return clock;
}

}  // namespace sightline
