#include "common/base/timer_thread.h"

#include <memory>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

TEST_CASE("tasks run when their time has come, the earliest first") {
  FakeClock clock;
  TimerThread timer(&clock);
  const absl::Time start = clock.Now();
  std::vector<int> ran;  // of the timer's thread, then of ours
  Gate last;
  timer.At(start + absl::Seconds(3), [&] {
    ran.push_back(3);
    last.Open();
  });
  timer.At(start + absl::Seconds(1), [&] { ran.push_back(1); });
  timer.At(start + absl::Seconds(2), [&] { ran.push_back(2); });
  timer.At(start + absl::Seconds(9), [&] { ran.push_back(9); });
  clock.Advance(absl::Seconds(3));
  last.Wait();
  CHECK(ran == std::vector<int>{1, 2, 3});
}

TEST_CASE("what is due already runs at once, also from a task") {
  FakeClock clock;
  TimerThread timer(&clock);
  Gate done;
  timer.At(clock.Now() - absl::Seconds(1), [&] { timer.At(clock.Now(), [&] { done.Open(); }); });
  done.Wait();
}

TEST_CASE("a timer that goes lets go of what is not due") {
  FakeClock clock;
  auto held = std::make_shared<int>(0);
  auto timer = std::make_unique<TimerThread>(&clock);
  timer->At(clock.Now() + absl::Seconds(1), [held] {});
  CHECK(held.use_count() == 2);
  timer.reset();
  CHECK(held.use_count() == 1);
}

TEST_CASE("a task may drop the timer") {
  FakeClock clock;
  Gate done;
  auto timer = std::make_shared<TimerThread>(&clock);
  TimerThread* const raw = timer.get();
  raw->At(clock.Now() + absl::Seconds(1), [&done, timer = std::move(timer)]() mutable {
    timer.reset();
    done.Open();
  });
  clock.Advance(absl::Seconds(1));
  done.Wait();
}

}  // namespace
}  // namespace sightline
