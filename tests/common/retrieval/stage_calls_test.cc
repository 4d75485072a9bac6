#include "common/retrieval/stage_calls.h"

#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

struct Stage {
  explicit Stage(absl::Duration allowed = absl::Seconds(1))
      : call(&clock, clock.Now() + absl::Hours(1)), calls(call, clock.Now() + allowed) {}
  FakeClock clock;
  CallContext call;
  StageCalls<int> calls;
};

TEST_CASE("answers are returned once each, then none") {
  Stage stage;
  Done<int> first = stage.calls.Slot(0);
  Done<int> second = stage.calls.Slot(1);
  second(20);
  first(absl::NotFoundError("no"));
  auto answer = stage.calls.Next();
  REQUIRE(answer.has_value());
  CHECK(answer->slot == 1);
  CHECK(*answer->value == 20);
  answer = stage.calls.Next();
  REQUIRE(answer.has_value());
  CHECK(absl::IsNotFound(answer->value.status()));
  CHECK_FALSE(stage.calls.Next().has_value());
}

TEST_CASE("waiting ends at the stage's deadline, or earlier if asked") {
  Stage stage;
  const Done<int> done = stage.calls.Slot(0);
  const absl::Time start = stage.clock.Now();
  for (const auto& [until, end] : {std::make_pair(absl::Milliseconds(200), absl::Milliseconds(200)),
                                   std::make_pair(absl::Hours(2), absl::Seconds(1))}) {
    auto none = std::async(std::launch::async, [&stage, at = start + until] {
      return stage.calls.Next(at).has_value();
    });
    stage.clock.AwaitSleepers(1);
    stage.clock.SetTime(start + end);
    CHECK_FALSE(none.get());
  }
}

TEST_CASE("what arrived before the deadline is returned after it") {
  Stage stage;
  stage.calls.Slot(0)(1);
  stage.clock.Advance(absl::Seconds(2));
  CHECK(stage.calls.Next().has_value());
}

TEST_CASE("the stage ends with the call if that is earlier") {
  FakeClock clock;
  const CallContext call(&clock, clock.Now() + absl::Milliseconds(10));
  const StageCalls<int> calls(call, clock.Now() + absl::Seconds(1));
  CHECK(calls.context().deadline() == call.deadline());
}

TEST_CASE("leaving the scope cancels the stage's calls but not the caller's") {
  FakeClock clock;
  const CallContext call(&clock, absl::InfiniteFuture());
  std::shared_ptr<Cancellation> stage;
  {
    const StageCalls<int> calls(call, absl::InfiniteFuture());
    stage = calls.context().cancellation();
    CHECK_FALSE(stage->cancelled());
  }
  CHECK(stage->cancelled());
  CHECK_FALSE(call.cancelled());
  stage.reset();
  CHECK(call.cancellation()->callbacks() == 0);
  call.cancellation()->Cancel();  // of a stage that is gone
}

TEST_CASE("the stage's calls bear the name of the caller's request") {
  FakeClock clock;
  const CallContext call = CallContext(&clock, absl::InfiniteFuture()).WithRequestId("request-7");
  const StageCalls<int> calls(call, clock.Now() + absl::Seconds(1));
  CHECK(calls.context().request_id() == "request-7");
}

TEST_CASE("a caller who goes away cancels the calls and ends the wait") {
  Stage stage;
  const Done<int> done = stage.calls.Slot(0);
  auto none = std::async(std::launch::async, [&stage] { return stage.calls.Next().has_value(); });
  stage.clock.AwaitSleepers(1);
  stage.call.cancellation()->Cancel();
  CHECK_FALSE(none.get());
  CHECK(stage.calls.context().cancelled());
}

TEST_CASE("an answer to a stage that is over is harmless") {
  FakeClock clock;
  const CallContext call(&clock, absl::InfiniteFuture());
  auto calls = std::make_unique<StageCalls<int>>(call, absl::InfiniteFuture());
  const Done<int> done = calls->Slot(0);
  calls.reset();
  std::thread late([done] { done(1); });
  late.join();
}

}  // namespace
}  // namespace sightline
