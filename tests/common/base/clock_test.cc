#include "common/base/clock.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/support/catch.h"

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
  std::mutex mutex;
  std::condition_variable cv;
  std::unique_lock<std::mutex> lock(mutex);
  const absl::Time deadline = clock->Now() + absl::Milliseconds(2);
  while (clock->Now() < deadline) clock->WaitUntil(cv, lock, deadline);
  REQUIRE(lock.owns_lock());
}

TEST_CASE("waiting for a deadline that has passed returns at once, holding the lock") {
  std::mutex mutex;
  std::condition_variable cv;
  std::unique_lock<std::mutex> lock(mutex);
  Clock::Real()->WaitUntil(cv, lock, absl::InfinitePast());
  Clock::Real()->WaitUntil(cv, lock, Clock::Real()->Now());
  REQUIRE(lock.owns_lock());
}

TEST_CASE("a notification ends the wait, however far the deadline") {
  Clock* clock = Clock::Real();
  for (const absl::Time deadline :
       {absl::InfiniteFuture(), clock->Now() + absl::Hours(1'000'000)}) {
    std::mutex mutex;
    std::condition_variable cv;
    bool ready = false;
    std::unique_lock<std::mutex> lock(mutex);
    std::thread notifier([&] {
      std::lock_guard<std::mutex> hold(mutex);
      ready = true;
      cv.notify_all();
    });
    while (!ready) clock->WaitUntil(cv, lock, deadline);
    lock.unlock();
    notifier.join();
    REQUIRE(ready);
  }
}

}  // namespace
}  // namespace sightline
