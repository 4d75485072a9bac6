// A clock by which a call ends in the middle of something, always at the same place.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_STOPPING_CLOCK_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_STOPPING_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "tests/support/fake_clock.h"

namespace sightline {

// It stands still, and counts how often it is asked: who looks whether a call has ended asks it.
// Its call is cancelled at one of these times, which the next look sees.  Used by one thread.
class StoppingClock : public FakeClock {
 public:
  absl::Time Now() override {
    if (++asked_ == stop_) call_.cancellation()->Cancel();
    return FakeClock::Now();
  }

  const CallContext& call() const { return call_; }
  int64_t asked() const { return asked_; }
  void StopIn(int64_t times) { stop_ = asked_ + times; }

 private:
  int64_t asked_ = 0, stop_ = -1;
  const CallContext call_{this, absl::InfiniteFuture()};
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_STOPPING_CLOCK_H_
