#include "common/object_store/retry.h"

#include <vector>

#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

using Catch::Contains;

RetryPolicy Policy() {
  RetryPolicy policy;
  policy.attempts = 5;
  policy.first_wait = absl::Seconds(1);
  policy.longest_wait = absl::Seconds(3);
  policy.random = [] { return 0.0; };
  return policy;
}

TEST_CASE("What may pass is tried again after waits that double up to the longest") {
  FakeClock clock;
  const CallContext call(&clock, absl::InfiniteFuture());
  const absl::Time start = clock.Now();
  std::vector<absl::Duration> tried;
  Background<absl::Status> retry([&] {
    return Retry(Policy(), call, [&] {
      tried.push_back(clock.Now() - start);
      return absl::UnavailableError("down");
    });
  });
  // With no randomness each wait is half of what it is called.
  for (const double seconds : {0.5, 1.0, 1.5, 1.5}) {
    clock.AwaitSleepers(1);
    clock.Advance(absl::Seconds(seconds));
  }
  const absl::Status status = retry.Get();
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()), Contains("down (attempt 5)"));
  CHECK(tried == std::vector<absl::Duration>{absl::ZeroDuration(), absl::Seconds(0.5),
                                             absl::Seconds(1.5), absl::Seconds(3),
                                             absl::Seconds(4.5)});
}

TEST_CASE("Randomness makes a wait longer, up to twice its half") {
  FakeClock clock;
  RetryPolicy policy = Policy();
  policy.attempts = 2;
  policy.random = [] { return 0.5; };
  const CallContext call(&clock, absl::InfiniteFuture());
  int tries = 0;
  Background<absl::Status> retry([&] {
    return Retry(policy, call,
                 [&] { return ++tries == 1 ? absl::UnavailableError("down") : absl::OkStatus(); });
  });
  clock.AwaitSleepers(1);
  clock.Advance(absl::Milliseconds(749));
  clock.AwaitSleepers(1);
  clock.Advance(absl::Milliseconds(1));
  CHECK(retry.Get().ok());
}

TEST_CASE("Whatever does not pass is returned at once") {
  FakeClock clock;
  const CallContext call(&clock, absl::InfiniteFuture());
  int tries = 0;
  CHECK(absl::IsPermissionDenied(Retry(Policy(), call, [&] {
    ++tries;
    return absl::PermissionDeniedError("no");
  })));
  CHECK(tries == 1);
}

TEST_CASE("No wait goes beyond the call's deadline, and the last error is told") {
  FakeClock clock;
  const CallContext call(&clock, clock.Now() + absl::Milliseconds(400));
  const absl::Status status =
      Retry(Policy(), call, [] { return absl::UnavailableError("the store is down"); });
  CHECK(absl::IsDeadlineExceeded(status));
  CHECK_THAT(std::string(status.message()), Contains("the store is down"));
}

TEST_CASE("A wait ends when the call is cancelled") {
  FakeClock clock;
  const CallContext call(&clock, absl::InfiniteFuture());
  Background<absl::Status> retry(
      [&] { return Retry(Policy(), call, [] { return absl::UnavailableError("down"); }); });
  clock.AwaitSleepers(1);
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(retry.Get()));
}

}  // namespace
}  // namespace sightline
