#include "common/retrieval/single_flight.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
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
using Part = Flights::Part;

constexpr absl::Duration kDue = absl::Milliseconds(900);

// Work that begins, and goes on when `release` opens.
struct HeldWork {
  int value;  // 0: it fails
  Gate entered = {}, release = {};
};

absl::StatusOr<Flights::Value> ValueOf(int value) {
  if (value == 0) return absl::UnavailableError("broken");
  return std::make_shared<const int>(value);
}

// Counts how often somebody has begun to wait.
class CountingClock : public FakeClock {
 public:
  void WaitUntil(CondVar& cv, Mutex& mutex, absl::Time deadline) override REQUIRES(mutex) {
    ++waits;
    FakeClock::WaitUntil(cv, mutex, deadline);
  }
  std::atomic<int> waits{0};
};

// Calls of one second, due after 900 ms, that want the same work.
struct Airport {
  CallContext Call(absl::Duration allowed = absl::Seconds(1)) {
    return CallContext(&clock, clock.Now() + allowed);
  }

  // Returns when the work has begun.
  std::future<Flights::Result> Lead(const CallContext& call, HeldWork* held,
                                    absl::Duration due = kDue) {
    auto result = std::async(std::launch::async, [this, call, held, due] {
      return flights.Do(
          "key", call, clock.Now() + due,
          [&](const CallContext& own) {
            work = own;
            ++works;
            held->entered.Open();
            held->release.Wait();
            return ValueOf(held->value);
          },
          [](int, absl::Duration, absl::Duration) { return true; });
    });
    held->entered.Wait();
    return result;
  }

  // Would give `value`, or an error if that is 0; `suits` are values of others that do.
  std::future<Flights::Result> Join(
      const CallContext& call, int value,
      std::function<bool(int)> suits = [](int) { return true; }) {
    return std::async(std::launch::async, [this, call, value, suits] {
      return flights.Do(
          "key", call, clock.Now() + kDue,
          [&](const CallContext&) {
            ++works;
            return ValueOf(value);
          },
          [this, suits](int other, absl::Duration others, absl::Duration own) {
            others_seconds = absl::ToInt64Seconds(others);
            own_seconds = absl::ToInt64Seconds(own);
            return suits(other);
          });
    });
  }
  std::vector<std::future<Flights::Result>> JoinMany(int count, int value,
                                                     const std::function<bool(int)>& suits) {
    std::vector<std::future<Flights::Result>> results;
    for (int i = 0; i < count; ++i) results.push_back(Join(Call(), value, suits));
    clock.AwaitSleepers(count);
    return results;
  }

  CountingClock clock;
  Flights flights;
  std::atomic<int> works{0};
  std::atomic<int64_t> others_seconds{0}, own_seconds{0};  // as a follower was told
  CallContext work = CallContext::Unbounded();             // what the last leader's work is given
};

TEST_CASE("equal work under way is done once") {
  Airport airport;
  HeldWork held{7};
  auto leader = airport.Lead(airport.Call(), &held);
  std::vector<std::future<Flights::Result>> followers;
  for (int i = 0; i < 5; ++i) followers.push_back(airport.Join(airport.Call(), 8));
  airport.clock.AwaitSleepers(5);
  held.release.Open();
  const Flights::Result first = leader.get();
  CHECK(**first.value == 7);
  CHECK(first.part == Part::kDid);
  for (auto& follower : followers) {
    const Flights::Result result = follower.get();
    CHECK(**result.value == 7);
    CHECK(result.part == Part::kShared);
  }
  CHECK(airport.works == 1);
  // What has ended is over.
  CHECK(**airport.Join(airport.Call(), 8).get().value == 8);
}

TEST_CASE("other work is not waited for") {
  Airport airport;
  HeldWork held{7};
  auto leader = airport.Lead(airport.Call(), &held);
  const auto other = airport.flights.Do(
      "another key", airport.Call(), airport.clock.Now(),
      [](const CallContext&) { return Flights::Value(std::make_shared<const int>(9)); },
      [](int, absl::Duration, absl::Duration) { return true; });
  CHECK(**other.value == 9);
  held.release.Open();
  leader.get();
}

TEST_CASE("a follower's deadline is its own") {
  Airport airport;
  HeldWork held{7};
  auto leader = airport.Lead(airport.Call(absl::Seconds(5)), &held);
  auto follower = airport.Join(airport.Call(absl::Milliseconds(950)), 8);
  airport.clock.AwaitSleepers(1);
  airport.clock.Advance(absl::Milliseconds(950));
  const Flights::Result gone = follower.get();
  CHECK(absl::IsDeadlineExceeded(gone.value.status()));
  CHECK(gone.part == Part::kGaveUp);
  CHECK(!airport.work.cancelled());
  held.release.Open();
  CHECK(**leader.get().value == 7);
}

TEST_CASE("a follower who goes away leaves the work alone") {
  Airport airport;
  HeldWork held{7};
  auto leader = airport.Lead(airport.Call(), &held);
  const CallContext call = airport.Call();
  auto follower = airport.Join(call, 8);
  airport.clock.AwaitSleepers(1);
  call.cancellation()->Cancel();
  const Flights::Result gone = follower.get();
  CHECK(absl::IsCancelled(gone.value.status()));
  CHECK(gone.part == Part::kGaveUp);
  CHECK(!airport.work.cancelled());
  held.release.Open();
  CHECK(**leader.get().value == 7);
}

TEST_CASE("a leader who goes away works on for those who wait") {
  Airport airport;
  HeldWork held{7};
  const CallContext call = airport.Call();
  auto leader = airport.Lead(call, &held);
  auto follower = airport.Join(airport.Call(), 8);
  airport.clock.AwaitSleepers(1);
  call.cancellation()->Cancel();
  CHECK(!airport.work.cancelled());
  held.release.Open();
  const Flights::Result result = follower.get();
  CHECK(**result.value == 7);
  CHECK(result.part == Part::kShared);
  CHECK(absl::IsCancelled(leader.get().value.status()));
  CHECK(airport.works == 1);
}

TEST_CASE("work that nobody waits for any more is cancelled") {
  Airport airport;
  HeldWork held{7};
  const CallContext first = airport.Call(), second = airport.Call();
  auto leader = airport.Lead(first, &held);
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
  held.release.Open();
  CHECK(absl::IsCancelled(leader.get().value.status()));
}

TEST_CASE("what the leader could not do one of those who wait does for all of them") {
  Airport airport;
  HeldWork held{0};
  auto leader = airport.Lead(airport.Call(), &held);
  auto followers = airport.JoinMany(5, 8, [](int) { return true; });
  held.release.Open();
  CHECK(absl::IsUnavailable(leader.get().value.status()));
  int did = 0;
  for (auto& follower : followers) {
    const Flights::Result result = follower.get();
    CHECK(**result.value == 8);
    did += result.part == Part::kDid;
  }
  CHECK(did >= 1);  // more, if one came when the next had ended already
  CHECK(airport.works == 1 + did);
}

TEST_CASE("those who wait again have one leader") {
  Airport airport;
  HeldWork first{GENERATE(0, 7)}, second{8};
  if (first.value == 0) second.value = GENERATE(0, 8);
  auto leader = airport.Lead(airport.Call(), &first);
  std::atomic<int> works{0};
  std::vector<std::future<Flights::Result>> followers;
  for (int i = 0; i < 5; ++i) {
    followers.push_back(std::async(std::launch::async, [&, call = airport.Call()] {
      return airport.flights.Do(
          "key", call, airport.clock.Now() + kDue,
          [&](const CallContext&) {
            ++works;
            second.release.Wait();
            return ValueOf(second.value);
          },
          // Whoever leads after waiting has as much time left as those who waited with it.
          [](int value, absl::Duration others, absl::Duration own) {
            return value == 8 && others == own;
          });
    }));
  }
  airport.clock.AwaitSleepers(5);
  airport.clock.Advance(absl::Milliseconds(100));
  first.release.Open();
  leader.get();
  // One leads, and the other four wait again.
  while (airport.clock.waits < 5 + 4 && works < 2) std::this_thread::yield();
  CHECK(works == 1);
  second.release.Open();
  int shared = 0;
  for (auto& follower : followers) {
    const Flights::Result result = follower.get();
    // An error is believed when it comes twice.
    CHECK(result.value.ok() == (second.value == 8));
    shared += result.part == Part::kShared;
  }
  CHECK(shared == 4);
  CHECK(works == 1);
}

TEST_CASE("a value that does not suit is none, and who waits is told who had what time") {
  Airport airport;
  HeldWork held{7};
  auto leader = airport.Lead(airport.Call(absl::Seconds(3)), &held);
  auto follower = airport.Join(airport.Call(absl::Seconds(5)), 8, [](int) { return false; });
  airport.clock.AwaitSleepers(1);
  held.release.Open();
  CHECK(**leader.get().value == 7);
  CHECK(**follower.get().value == 8);
  CHECK(airport.others_seconds == 3);
  CHECK(airport.own_seconds == 5);
}

TEST_CASE("who is due before the leader takes its place") {
  Airport airport;
  HeldWork patient{7}, impatient{8};
  auto first = airport.Lead(airport.Call(absl::Seconds(5)), &patient, absl::Milliseconds(4900));
  auto second = airport.Lead(airport.Call(), &impatient);
  auto third = airport.Join(airport.Call(), 9);
  airport.clock.AwaitSleepers(1);
  // The end of the first is not that of the second.
  patient.release.Open();
  CHECK(**first.get().value == 7);
  auto fourth = airport.Join(airport.Call(), 9);
  airport.clock.AwaitSleepers(2);
  impatient.release.Open();
  CHECK(**second.get().value == 8);
  for (auto* follower : {&third, &fourth}) {
    const Flights::Result result = follower->get();
    CHECK(**result.value == 8);
    CHECK(result.part == Part::kShared);
  }
  CHECK(airport.works == 2);
}

TEST_CASE("who was displaced is waited for again") {
  Airport airport;
  HeldWork patient{7}, impatient{8}, hasty{9};
  auto first = airport.Lead(airport.Call(absl::Seconds(5)), &patient, absl::Milliseconds(4900));
  auto second = airport.Lead(airport.Call(), &impatient);
  auto third = airport.Lead(airport.Call(), &hasty, absl::Milliseconds(100));
  impatient.release.Open();  // ends before it is found again
  CHECK(**second.get().value == 8);
  hasty.release.Open();
  CHECK(**third.get().value == 9);
  auto follower = std::async(std::launch::async, [&] {
    return airport.flights.Do(
        "key", airport.Call(absl::Seconds(5)), airport.clock.Now() + absl::Seconds(5),
        [](const CallContext&) { return ValueOf(10); },
        [](int, absl::Duration, absl::Duration) { return true; });
  });
  while (airport.clock.waits == 0 &&
         follower.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    std::this_thread::yield();
  }
  patient.release.Open();
  const Flights::Result result = follower.get();
  CHECK(**result.value == 7);
  CHECK(result.part == Part::kShared);
  CHECK(**first.get().value == 7);
  CHECK(**airport.Join(airport.Call(), 11).get().value == 11);
}

TEST_CASE("who is due a moment before the leader waits for nobody, whatever its deadline") {
  Airport airport;
  HeldWork held{7};
  auto leader = airport.Lead(airport.Call(), &held, kDue + absl::Milliseconds(1));
  const Flights::Result result = airport.Join(airport.Call(), 8).get();
  CHECK(**result.value == 8);
  CHECK(result.part == Part::kDid);
  held.release.Open();
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
            [](int, absl::Duration, absl::Duration) { return true; });
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
