#include "common/base/clock.h"

#include <thread>

#include "common/base/mutex.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/is_held.h"

namespace sightline {
namespace {

TEST_CASE("the real clock never jumps back") {
  Clock* clock = Clock::Real();
  absl::Time last = clock->Now();
  for (int i = 0; i < 10000; ++i) {
    const absl::Time now = clock->Now();
    if (now < last) FAIL("went from " << last << " to " << now);
    last = now;
  }
}

TEST_CASE("waiting ends at the deadline") {
  Clock* clock = Clock::Real();
  Mutex mutex;
  CondVar cv;
  MutexLock lock(mutex);
  const absl::Time deadline = clock->Now() + absl::Milliseconds(2);
  while (clock->Now() < deadline) clock->WaitUntil(cv, mutex, deadline);
  REQUIRE(IsHeld(mutex));
}

TEST_CASE("waiting for a deadline that has passed returns at once, holding the lock") {
  Mutex mutex;
  CondVar cv;
  MutexLock lock(mutex);
  Clock::Real()->WaitUntil(cv, mutex, absl::InfinitePast());
  Clock::Real()->WaitUntil(cv, mutex, Clock::Real()->Now());
  REQUIRE(IsHeld(mutex));
}

TEST_CASE("a notification ends the wait, however far the deadline") {
  Clock* clock = Clock::Real();
  for (const absl::Time deadline :
       {absl::InfiniteFuture(), clock->Now() + absl::Hours(1'000'000)}) {
    struct {
      Mutex mutex;
      CondVar changed;
      bool ready GUARDED_BY(mutex) = false;
    } news;
    std::thread notifier;
    {
      MutexLock lock(news.mutex);
      notifier = std::thread([&] {
        MutexLock hold(news.mutex);
        news.ready = true;
        news.changed.NotifyAll();
      });
      while (!news.ready) clock->WaitUntil(news.changed, news.mutex, deadline);
    }
    notifier.join();
  }
}

TEST_CASE("sleeping ends when its time has come, and at once if it has") {
  Clock* const real = Clock::Real();
  const absl::Time soon = real->Now() + absl::Milliseconds(2);
  real->SleepUntil(soon);
  CHECK(real->Now() >= soon);
  real->SleepUntil(absl::InfinitePast());

  FakeClock clock;
  const absl::Time end = clock.Now() + absl::Seconds(2);
  absl::Time woke_at;
  std::thread sleeper([&] {
    clock.SleepUntil(end);
    woke_at = clock.Now();
  });
  clock.AwaitSleepers(1);
  clock.Advance(absl::Seconds(1));
  clock.AwaitSleepers(1);
  clock.Advance(absl::Seconds(1));
  sleeper.join();
  CHECK(woke_at == end);
}

}  // namespace
}  // namespace sightline
