#include "tests/support/fake_clock.h"
#include "common/base/mutex.h"

#include <memory>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/is_held.h"

namespace sightline {
namespace {

// A thread that waits for a moment or to be told to stop.
class Waiter {
 public:
  Waiter(FakeClock* clock, absl::Time deadline)
      : thread_([this, clock, deadline] {
          MutexLock lock(mutex_);
          while (!stop_ && clock->Now() < deadline) clock->WaitUntil(cv_, mutex_, deadline);
          woke_at_ = clock->Now();
        }) {}

  void Stop() {
    MutexLock lock(mutex_);
    stop_ = true;
    cv_.NotifyAll();
  }

  absl::Time Join() {
    thread_.join();
    return woke_at_;
  }

 private:
  Mutex mutex_;
  CondVar cv_;
  bool stop_ GUARDED_BY(mutex_) = false;
  absl::Time woke_at_;  // of the thread, until it is joined
  std::thread thread_;
};

TEST_CASE("time stands still until it is moved, and never goes back") {
  FakeClock clock(absl::UnixEpoch());
  REQUIRE(clock.Now() == absl::UnixEpoch());
  clock.Advance(absl::Seconds(5));
  REQUIRE(clock.Now() == absl::FromUnixSeconds(5));
  clock.SetTime(absl::FromUnixSeconds(3));
  REQUIRE(clock.Now() == absl::FromUnixSeconds(5));
}

TEST_CASE("a deadline that has passed is not waited for") {
  FakeClock clock;
  Mutex mutex;
  CondVar cv;
  MutexLock lock(mutex);
  clock.WaitUntil(cv, mutex, clock.Now());
  REQUIRE(IsHeld(mutex));
}

TEST_CASE("advancing wakes those whose deadline has come and nobody else") {
  FakeClock clock;
  const absl::Time start = clock.Now();
  Waiter early(&clock, start + absl::Seconds(1));
  Waiter late(&clock, start + absl::Seconds(2));
  Waiter never(&clock, absl::InfiniteFuture());
  clock.AwaitSleepers(3);
  clock.Advance(absl::Seconds(1));
  REQUIRE(early.Join() == start + absl::Seconds(1));
  clock.AwaitSleepers(2);
  clock.Advance(absl::Seconds(1));
  REQUIRE(late.Join() == start + absl::Seconds(2));
  never.Stop();
  REQUIRE(never.Join() == start + absl::Seconds(2));
}

TEST_CASE("waiters may vanish, notified or due, while the clock is being moved") {
  FakeClock clock;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::unique_ptr<Waiter>> waiters;
    for (int i = 0; i < 3; ++i) {
      waiters.push_back(std::make_unique<Waiter>(&clock, clock.Now() + absl::Milliseconds(i + 1)));
    }
    clock.AwaitSleepers(3);
    std::thread mover([&] { clock.Advance(absl::Milliseconds(2)); });
    for (auto& waiter : waiters) {
      waiter->Stop();
      waiter->Join();
    }
    waiters.clear();
    mover.join();
  }
}

}  // namespace
}  // namespace sightline
