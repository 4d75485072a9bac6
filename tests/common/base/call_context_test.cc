#include "common/base/call_context.h"

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

TEST_CASE("a call is alive until its deadline and not at it") {
  FakeClock clock;
  const CallContext call(&clock, clock.Now() + absl::Milliseconds(300));
  REQUIRE(call.Check("rerank").ok());
  REQUIRE(call.remaining() == absl::Milliseconds(300));
  clock.Advance(absl::Milliseconds(299));
  REQUIRE_FALSE(call.expired());
  clock.Advance(absl::Milliseconds(1));
  REQUIRE(call.expired());
  const absl::Status status = call.Check("rerank");
  REQUIRE(absl::IsDeadlineExceeded(status));
  REQUIRE(status.message() == "rerank: no time left");
}

TEST_CASE("a stage's deadline can be earlier than the call's, never later") {
  FakeClock clock;
  const absl::Time deadline = clock.Now() + absl::Seconds(1);
  const CallContext call(&clock, deadline);
  REQUIRE(call.WithDeadline(deadline - absl::Milliseconds(1)).deadline() ==
          deadline - absl::Milliseconds(1));
  REQUIRE(call.WithDeadline(deadline + absl::Hours(1)).deadline() == deadline);
  REQUIRE(call.WithDeadline(absl::InfiniteFuture()).deadline() == deadline);
}

TEST_CASE("every copy and every stage sees the cancellation") {
  FakeClock clock;
  const CallContext call(&clock, clock.Now() + absl::Seconds(1));
  const CallContext copy = call;
  const CallContext stage = call.WithDeadline(clock.Now());
  call.cancellation()->Cancel();
  REQUIRE(copy.cancelled());
  REQUIRE(absl::IsCancelled(copy.Check("search")));
  // Expired as well: that the caller went away is the better news.
  REQUIRE(absl::IsCancelled(stage.Check("search")));
}

TEST_CASE("a call without bounds never expires") {
  const CallContext call = CallContext::Unbounded();
  REQUIRE(call.remaining() == absl::InfiniteDuration());
  REQUIRE(call.Check("encode").ok());
}

TEST_CASE("callbacks run once: at the cancellation, or at once after it") {
  Cancellation cancellation;
  int before = 0;
  int after = 0;
  const auto first = cancellation.OnCancel([&] { ++before; });
  REQUIRE_FALSE(cancellation.cancelled());
  cancellation.Cancel();
  cancellation.Cancel();
  const auto second = cancellation.OnCancel([&] { ++after; });
  REQUIRE(before == 1);
  REQUIRE(after == 1);
}

TEST_CASE("a callback may use the cancellation that calls it") {
  Cancellation cancellation;
  bool nested = false;
  const auto outer = cancellation.OnCancel([&] {
    cancellation.Cancel();
    const auto inner = cancellation.OnCancel([&] { nested = cancellation.cancelled(); });
  });
  cancellation.Cancel();
  REQUIRE(nested);
}

TEST_CASE("a callback goes with its registration, and with it what the callback owns") {
  Cancellation cancellation;
  const auto owned = std::make_shared<int>(0);
  {
    const auto registration = cancellation.OnCancel([owned] { ++*owned; });
    REQUIRE(cancellation.callbacks() == 1);
    REQUIRE(owned.use_count() == 2);
  }
  REQUIRE(cancellation.callbacks() == 0);
  REQUIRE(owned.use_count() == 1);
  cancellation.Cancel();
  REQUIRE(*owned == 0);
}

TEST_CASE("a registration moves with its callback and may outlive the cancellation") {
  int calls = 0;
  Cancellation::Registration kept;
  {
    Cancellation cancellation;
    Cancellation::Registration first = cancellation.OnCancel([&] { ++calls; });
    kept = std::move(first);
    first.Reset();
    REQUIRE(cancellation.callbacks() == 1);
    kept = cancellation.OnCancel([&] { calls += 10; });  // in the place of the first
    REQUIRE(cancellation.callbacks() == 1);
    cancellation.Cancel();
  }
  REQUIRE(calls == 10);
}

TEST_CASE("a callback that holds its registration stays as long as the cancellation") {
  const auto owned = std::make_shared<int>(0);
  {
    Cancellation cancellation;
    const auto own = std::make_shared<Cancellation::Registration>();
    *own = cancellation.OnCancel([own, owned] { ++*owned; });
    REQUIRE(cancellation.callbacks() == 1);
  }
  REQUIRE(owned.use_count() == 1);
}

TEST_CASE("a callback may end its own registration and those of others") {
  Cancellation cancellation;
  int calls = 0;
  Cancellation::Registration own, other;
  own = cancellation.OnCancel([&] {
    ++calls;
    own.Reset();
    other.Reset();
  });
  other = cancellation.OnCancel([&] { ++calls; });
  cancellation.Cancel();
  REQUIRE(calls == 2);  // the other one was on its way already
}

TEST_CASE("a part of a call is cancelled with it, or alone") {
  FakeClock clock;
  const CallContext call = CallContext(&clock, clock.Now() + absl::Seconds(1)).WithRequestId("id");
  const CallContext alone = call.Child();
  const CallContext part = call.WithDeadline(clock.Now()).Child();
  REQUIRE(alone.deadline() == call.deadline());
  REQUIRE(part.deadline() == clock.Now());
  REQUIRE(part.request_id() == "id");
  alone.cancellation()->Cancel();
  REQUIRE(alone.cancelled());
  REQUIRE_FALSE(call.cancelled());
  REQUIRE_FALSE(part.cancelled());
  call.cancellation()->Cancel();
  REQUIRE(part.cancelled());
  REQUIRE(call.Child().cancelled());
}

TEST_CASE("parts that have ended leave nothing in the call") {
  const CallContext call = CallContext::Unbounded();
  for (int i = 0; i < 100; ++i) const CallContext part = call.Child();
  REQUIRE(call.cancellation()->callbacks() == 0);
  const CallContext part = call.Child();
  const CallContext copy = part;
  REQUIRE(call.cancellation()->callbacks() == 1);
}

TEST_CASE("a registration may end while the callback runs elsewhere") {
  for (int round = 0; round < 50; ++round) {
    const auto calls = std::make_shared<std::atomic<int>>(0);
    auto cancellation = std::make_shared<Cancellation>();
    auto registration = cancellation->OnCancel([calls] { ++*calls; });
    std::thread cancelling([cancellation] { cancellation->Cancel(); });
    registration.Reset();
    cancellation.reset();
    cancelling.join();
    if (*calls > 1) FAIL("round " << round << ": " << *calls << " calls");
  }
}

TEST_CASE("callbacks run exactly once however threads race") {
  for (int round = 0; round < 50; ++round) {
    Cancellation cancellation;
    std::atomic<int> calls{0};
    Cancellation::Registration registrations[2];
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back([&] { cancellation.Cancel(); });
    for (Cancellation::Registration& registration : registrations) {
      threads.emplace_back([&] { registration = cancellation.OnCancel([&] { ++calls; }); });
    }
    for (std::thread& thread : threads) thread.join();
    if (calls != 2) FAIL("round " << round << ": " << calls << " calls");
  }
}

}  // namespace
}  // namespace sightline
