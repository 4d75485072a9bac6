#include "common/base/call_context.h"

#include <atomic>
#include <thread>
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
  cancellation.OnCancel([&] { ++before; });
  REQUIRE_FALSE(cancellation.cancelled());
  cancellation.Cancel();
  cancellation.Cancel();
  cancellation.OnCancel([&] { ++after; });
  REQUIRE(before == 1);
  REQUIRE(after == 1);
}

TEST_CASE("a callback may use the cancellation that calls it") {
  Cancellation cancellation;
  bool nested = false;
  cancellation.OnCancel([&] {
    cancellation.Cancel();
    cancellation.OnCancel([&] { nested = cancellation.cancelled(); });
  });
  cancellation.Cancel();
  REQUIRE(nested);
}

TEST_CASE("callbacks run exactly once however threads race") {
  for (int round = 0; round < 50; ++round) {
    Cancellation cancellation;
    std::atomic<int> calls{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back([&] { cancellation.Cancel(); });
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] { cancellation.OnCancel([&] { ++calls; }); });
    }
    for (std::thread& thread : threads) thread.join();
    if (calls != 2) FAIL("round " << round << ": " << calls << " calls");
  }
}

}  // namespace
}  // namespace sightline
