#include "common/retrieval/single_flight.h"

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

using Flights = SingleFlight<int>;

// Calls of one second, due after 900 ms, that want the same work.
struct Airport {
  CallContext Call(absl::Duration allowed = absl::Seconds(1)) {
    return CallContext(&clock, clock.Now() + allowed);
  }

  // Begins to work, and goes on when `release` opens; gives `value`, or the error if it is 0.
  std::future<Flights::Result> Lead(const CallContext& call, int value) {
    auto result = std::async(std::launch::async, [this, call, value] {
      return flights.Do(
          "key", call, clock.Now() + absl::Milliseconds(900),
          [&](const CallContext& own) -> absl::StatusOr<Flights::Value> {
            work = own;
            ++works;
            entered.Open();
            release.Wait();
            if (value == 0) return absl::UnavailableError("broken");
            return std::make_shared<const int>(value);
          },
          [](int, absl::Duration) { return true; });
    });
    entered.Wait();
    return result;
  }

  // Would give `value`.
  std::future<Flights::Result> Join(const CallContext& call, int value, bool suits = true) {
    return std::async(std::launch::async, [this, call, value, suits] {
      return flights.Do(
          "key", call, clock.Now() + absl::Milliseconds(900),
          [&](const CallContext&) -> absl::StatusOr<Flights::Value> {
            ++works;
            return std::make_shared<const int>(value);
          },
          [this, suits](int, absl::Duration allowed) {
            seconds_allowed = absl::ToInt64Seconds(allowed);
            return suits;
          });
    });
  }

  FakeClock clock;
  Flights flights;
  std::atomic<int> works{0};
  std::atomic<int64_t> seconds_allowed{0};      // to the leader, as a follower was told
  CallContext work = CallContext::Unbounded();  // what the leader's work is given
  Gate entered, release;
};

TEST_CASE("equal work under way is done once") {
  Airport airport;
  auto leader = airport.Lead(airport.Call(), 7);
  std::vector<std::future<Flights::Result>> followers;
  for (int i = 0; i < 5; ++i) followers.push_back(airport.Join(airport.Call(), 8));
  airport.clock.AwaitSleepers(5);
  airport.release.Open();
  const Flights::Result first = leader.get();
  CHECK(**first.value == 7);
  CHECK(!first.shared);
  for (auto& follower : followers) {
    const Flights::Result result = follower.get();
    CHECK(**result.value == 7);
    CHECK(result.shared);
  }
  CHECK(airport.works == 1);
  // What has ended is over.
  CHECK(**airport.Join(airport.Call(), 8).get().value == 8);
}

TEST_CASE("other work is not waited for") {
  Airport airport;
  auto leader = airport.Lead(airport.Call(), 7);
  const auto other = airport.flights.Do(
      "another key", airport.Call(), airport.clock.Now(),
      [](const CallContext&) { return Flights::Value(std::make_shared<const int>(9)); },
      [](int, absl::Duration) { return true; });
  CHECK(**other.value == 9);
  airport.release.Open();
  leader.get();
}

TEST_CASE("a follower's deadline is its own") {
  Airport airport;
  auto leader = airport.Lead(airport.Call(absl::Seconds(5)), 7);
  auto follower = airport.Join(airport.Call(absl::Milliseconds(950)), 8);
  airport.clock.AwaitSleepers(1);
  airport.clock.Advance(absl::Milliseconds(950));
  CHECK(absl::IsDeadlineExceeded(follower.get().value.status()));
  CHECK(!airport.work.cancelled());
  airport.release.Open();
  CHECK(**leader.get().value == 7);
}

TEST_CASE("a follower who goes away leaves the work alone") {
  Airport airport;
  auto leader = airport.Lead(airport.Call(), 7);
  const CallContext call = airport.Call();
  auto follower = airport.Join(call, 8);
  airport.clock.AwaitSleepers(1);
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(follower.get().value.status()));
  CHECK(!airport.work.cancelled());
  airport.release.Open();
  CHECK(**leader.get().value == 7);
}

TEST_CASE("a leader who goes away works on for those who wait") {
  Airport airport;
  const CallContext call = airport.Call();
  auto leader = airport.Lead(call, 7);
  auto follower = airport.Join(airport.Call(), 8);
  airport.clock.AwaitSleepers(1);
  call.cancellation()->Cancel();
  CHECK(!airport.work.cancelled());
  airport.release.Open();
  const Flights::Result result = follower.get();
  CHECK(**result.value == 7);
  CHECK(result.shared);
  CHECK(absl::IsCancelled(leader.get().value.status()));
  CHECK(airport.works == 1);
}

TEST_CASE("work that nobody waits for any more is cancelled") {
  Airport airport;
  const CallContext first = airport.Call(), second = airport.Call();
  auto leader = airport.Lead(first, 7);
  SECTION("nobody ever did") {
    first.cancellation()->Cancel();
    CHECK(airport.work.cancelled());
  }
  SECTION("the leader goes, then the follower") {
    auto follower = airport.Join(second, 8);
    airport.clock.AwaitSleepers(1);
    first.cancellation()->Cancel();
    CHECK(!airport.work.cancelled());
    second.cancellation()->Cancel();
    CHECK(absl::IsCancelled(follower.get().value.status()));
    CHECK(airport.work.cancelled());
  }
  SECTION("the follower goes, then the leader") {
    auto follower = airport.Join(second, 8);
    airport.clock.AwaitSleepers(1);
    second.cancellation()->Cancel();
    follower.get();
    CHECK(!airport.work.cancelled());
    first.cancellation()->Cancel();
    CHECK(airport.work.cancelled());
  }
  airport.release.Open();
  CHECK(absl::IsCancelled(leader.get().value.status()));
}

TEST_CASE("what the leader could not do a follower does for itself") {
  Airport airport;
  auto leader = airport.Lead(airport.Call(), 0);
  auto follower = airport.Join(airport.Call(), 8);
  airport.clock.AwaitSleepers(1);
  airport.release.Open();
  CHECK(absl::IsUnavailable(leader.get().value.status()));
  const Flights::Result result = follower.get();
  CHECK(**result.value == 8);
  CHECK(!result.shared);
  CHECK(airport.works == 2);
}

TEST_CASE("a value that does not suit is none") {
  Airport airport;
  auto leader = airport.Lead(airport.Call(absl::Seconds(3)), 7);
  auto follower = airport.Join(airport.Call(), 8, /*suits=*/false);
  airport.clock.AwaitSleepers(1);
  airport.release.Open();
  CHECK(**leader.get().value == 7);
  CHECK(**follower.get().value == 8);
  CHECK(airport.seconds_allowed == 3);
}

TEST_CASE("nobody waits for work that may end after his deadline") {
  Airport airport;
  auto leader = airport.Lead(airport.Call(), 7);
  const Flights::Result result = airport.Join(airport.Call(absl::Milliseconds(899)), 8).get();
  CHECK(**result.value == 8);
  CHECK(!result.shared);
  airport.release.Open();
  CHECK(**leader.get().value == 7);
}

TEST_CASE("many calls, of which some fail and some go away") {
  constexpr int kThreads = 8, kCalls = 300;
  Flights flights;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        const int number = i % 3;
        const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(30));
        if ((i + t) % 17 == 0) call.cancellation()->Cancel();
        const auto result = flights.Do(
            absl::StrCat(number), call, Clock::Real()->Now() + absl::Seconds(1),
            [&](const CallContext& own) -> absl::StatusOr<Flights::Value> {
              std::this_thread::yield();
              if ((i + t) % 13 == 0) return absl::UnavailableError("broken");
              if (own.cancelled()) return own.Check("work");
              return std::make_shared<const int>(number);
            },
            [](int, absl::Duration) { return true; });
        if (result.value.ok() ? **result.value != number
                              : !absl::IsUnavailable(result.value.status()) &&
                                    !absl::IsCancelled(result.value.status())) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace sightline
