#include "common/base/outcome.h"

#include <memory>
#include <string>

#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

using Text = absl::StatusOr<std::string>;

TEST_CASE("what is set before is there at once, even for a call that is over") {
  FakeClock clock;
  Outcome<std::string> outcome;
  outcome.Set(std::string("done"));
  CHECK(*outcome.Await(CallContext(&clock, clock.Now()), "work") == "done");
}

TEST_CASE("a waiter gets what another thread sets, value or error") {
  FakeClock clock;
  const CallContext call(&clock, clock.Now() + absl::Seconds(1));
  for (const bool good : {true, false}) {
    auto outcome = std::make_shared<Outcome<std::string>>();
    Background<Text> waiter([&] { return outcome->Await(call, "work"); });
    clock.AwaitSleepers(1);
    if (good) {
      outcome->Set(std::string("done"));
    } else {
      outcome->Set(absl::InternalError("broken"));
    }
    const Text text = waiter.Get();
    CHECK(text.status().code() == (good ? absl::StatusCode::kOk : absl::StatusCode::kInternal));
  }
}

TEST_CASE("the first word counts") {
  FakeClock clock;
  Outcome<std::string> outcome;
  outcome.Set(absl::CancelledError("gone"));
  outcome.Set(std::string("late"));
  CHECK(absl::IsCancelled(
      outcome.Await(CallContext(&clock, clock.Now() + absl::Seconds(1)), "work").status()));
}

TEST_CASE("waiting ends at the deadline and says what was waited for") {
  FakeClock clock;
  const CallContext call(&clock, clock.Now() + absl::Seconds(1));
  auto outcome = std::make_shared<Outcome<std::string>>();
  Background<Text> waiter([&] { return outcome->Await(call, "scoring"); });
  clock.AwaitSleepers(1);
  clock.Advance(absl::Seconds(1));
  const Text text = waiter.Get();
  CHECK(absl::IsDeadlineExceeded(text.status()));
  CHECK_THAT(std::string(text.status().message()), Catch::Contains("scoring"));
  outcome->Set(std::string("late"));  // finds a place to lie
}

TEST_CASE("waiting ends when the caller goes away") {
  FakeClock clock;
  const CallContext call(&clock, clock.Now() + absl::Seconds(1));
  auto outcome = std::make_shared<Outcome<std::string>>();
  Background<Text> waiter([&] { return outcome->Await(call, "scoring"); });
  clock.AwaitSleepers(1);
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(waiter.Get().status()));
}

TEST_CASE("a caller who went away before is not waited for") {
  FakeClock clock;
  const CallContext call(&clock, clock.Now() + absl::Seconds(1));
  call.cancellation()->Cancel();
  auto outcome = std::make_shared<Outcome<std::string>>();
  CHECK(absl::IsCancelled(outcome->Await(call, "scoring").status()));
}

}  // namespace
}  // namespace sightline
