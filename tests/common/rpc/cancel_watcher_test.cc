#include "common/rpc/cancel_watcher.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

constexpr absl::Duration kPeriod = absl::Milliseconds(10);

// Lets rounds go by until one has done what opens the gate.
void Pass(FakeClock* clock, Gate* done) {
  while (!done->IsOpen()) {
    clock->AwaitSleepers(1);
    clock->Advance(kPeriod);
  }
}

TEST_CASE("A caller that goes away is noticed, and told once") {
  FakeClock clock;
  CancelWatcher watcher(&clock, kPeriod);
  std::atomic<bool> gone{false};
  std::atomic<int> cancels{0};
  Gate asked, cancelled;
  auto cancellation = std::make_shared<Cancellation>();
  const auto told = cancellation->OnCancel([&] {
    ++cancels;
    cancelled.Open();
  });
  const auto registration = watcher.Watch(
      [&] {
        asked.Open();
        return gone.load();
      },
      cancellation);
  Pass(&clock, &asked);
  clock.AwaitSleepers(1);
  CHECK_FALSE(cancellation->cancelled());
  gone = true;
  clock.Advance(kPeriod);
  cancelled.Wait();
  clock.AwaitSleepers(1);
  clock.Advance(kPeriod);
  clock.AwaitSleepers(1);
  CHECK(cancels == 1);
}

TEST_CASE("After its registration has ended a call is not asked about any more") {
  FakeClock clock;
  CancelWatcher watcher(&clock, kPeriod);
  auto answer = std::make_unique<bool>(false);
  Gate asked;
  auto registration = watcher.Watch(
      [&asked, answer = answer.get()] {
        asked.Open();
        return *answer;
      },
      std::make_shared<Cancellation>());
  Pass(&clock, &asked);
  registration.reset();
  answer.reset();  // asan and tsan would see a late question
  clock.AwaitSleepers(1);
  clock.Advance(kPeriod);
  clock.AwaitSleepers(1);
}

TEST_CASE("A callback may end other calls and watch new ones") {
  FakeClock clock;
  CancelWatcher watcher(&clock, kPeriod);
  Gate done;
  auto other = watcher.Watch([] { return false; }, std::make_shared<Cancellation>());
  std::unique_ptr<CancelWatcher::Registration> added;
  auto cancellation = std::make_shared<Cancellation>();
  const auto told = cancellation->OnCancel([&] {
    other.reset();
    added = watcher.Watch([] { return false; }, std::make_shared<Cancellation>());
    done.Open();
  });
  std::atomic<bool> gone{false};
  Gate asked;
  const auto registration = watcher.Watch(
      [&] {
        asked.Open();
        return gone.load();
      },
      cancellation);
  gone = true;
  Pass(&clock, &done);
}

TEST_CASE("Calls that see one round alone are not asked about") {
  FakeClock clock;
  CancelWatcher watcher(&clock, kPeriod);
  Gate asked;
  const auto lasting = watcher.Watch(
      [&] {
        asked.Open();
        return false;
      },
      std::make_shared<Cancellation>());
  std::atomic<int> questions{0};
  const auto brief = [&] {
    return watcher.Watch(
        [&] {
          ++questions;
          return false;
        },
        std::make_shared<Cancellation>());
  };
  for (auto call = brief(); !asked.IsOpen(); call = brief()) {
    clock.AwaitSleepers(1);
    clock.Advance(kPeriod);
    clock.AwaitSleepers(1);
  }
  CHECK(questions == 0);
}

TEST_CASE("Many calls come and go while the watcher asks") {
  CancelWatcher watcher(Clock::Real(), absl::Microseconds(50));
  std::atomic<int> cancelled{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        Gate gate;
        auto cancellation = std::make_shared<Cancellation>();
        const auto told = cancellation->OnCancel([&] {
          ++cancelled;
          gate.Open();
        });
        const bool goes_away = (i + t) % 4 == 0;
        const auto registration = watcher.Watch([=] { return goes_away; }, cancellation);
        if (goes_away) gate.Wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(cancelled == 200);
}

}  // namespace
}  // namespace sightline
