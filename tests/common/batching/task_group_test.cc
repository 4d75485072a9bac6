#include "common/batching/task_group.h"

#include <string>
#include <vector>

#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

using Answer = absl::StatusOr<std::vector<int>>;

TEST_CASE("results come in the order of the tasks, whoever is done first") {
  TaskGroup<int> group(CallContext::Unbounded(), "count");
  const auto first = group.Add(), second = group.Add();
  second->Set(2);
  first->Set(1);
  REQUIRE(*group.AwaitAll() == std::vector<int>{1, 2});
}

TEST_CASE("a group without tasks has no results") {
  REQUIRE(TaskGroup<int>(CallContext::Unbounded(), "count").AwaitAll()->empty());
}

TEST_CASE("a failure is returned without waiting for those after it, which are cancelled") {
  CallContext tasks = CallContext::Unbounded();
  {
    TaskGroup<int> group(CallContext::Unbounded(), "count");
    tasks = group.call();
    group.Add()->Set(absl::ResourceExhaustedError("the queue is full"));
    group.Add();
    REQUIRE(group.AwaitAll().status().message() == "the queue is full");
    REQUIRE_FALSE(tasks.cancelled());
  }
  REQUIRE(tasks.cancelled());
}

TEST_CASE("tasks that were handed over before one could not be are cancelled") {
  const CallContext call = CallContext::Unbounded();
  CallContext tasks = call;
  const auto hand_over = [&]() -> Answer {
    TaskGroup<int> group(call, "count");
    tasks = group.call();
    group.Add();
    return absl::UnavailableError("no more is taken");
  };
  REQUIRE(absl::IsUnavailable(hand_over().status()));
  REQUIRE(tasks.cancelled());
  REQUIRE_FALSE(call.cancelled());
}

TEST_CASE("the end of the request's call ends the wait, and names what was awaited") {
  FakeClock clock;
  const CallContext call(&clock, clock.Now() + absl::Seconds(1));
  TaskGroup<int> group(call, "count the fish");
  group.Add();
  Background<Answer> waiting([&] { return group.AwaitAll(); });
  clock.AwaitSleepers(1);
  clock.Advance(absl::Seconds(2));
  const Answer answer = waiting.Get();
  REQUIRE(absl::IsDeadlineExceeded(answer.status()));
  REQUIRE(answer.status().message().find("count the fish") != std::string::npos);
}

}  // namespace
}  // namespace sightline
