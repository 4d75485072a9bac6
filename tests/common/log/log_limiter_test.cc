#include "common/log/log_limiter.h"

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

TEST_CASE("One line per key and period, and the next one says how many were left out") {
  FakeClock clock;
  LogLimiter limiter(&clock, absl::Seconds(10));
  int64_t suppressed = -1;
  CHECK(limiter.Allow("a", &suppressed));
  CHECK(suppressed == 0);
  CHECK_FALSE(limiter.Allow("a", &suppressed));
  CHECK_FALSE(limiter.Allow("a", &suppressed));
  CHECK(limiter.Allow("b", &suppressed));
  CHECK(suppressed == 0);
  clock.Advance(absl::Seconds(10) - absl::Nanoseconds(1));
  CHECK_FALSE(limiter.Allow("a", &suppressed));
  clock.Advance(absl::Nanoseconds(1));
  CHECK(limiter.Allow("a", &suppressed));
  CHECK(suppressed == 3);
  clock.Advance(absl::Seconds(10));
  CHECK(limiter.Allow("a", &suppressed));
  CHECK(suppressed == 0);
}

TEST_CASE("Keys without room share one budget, and expired keys make room") {
  FakeClock clock;
  LogLimiter limiter(&clock, absl::Seconds(10), /*max_keys=*/3);
  int64_t suppressed = 0;
  for (int i = 0; i < 3; ++i) CHECK(limiter.Allow(absl::StrCat("key", i), &suppressed));
  CHECK(limiter.Allow("key3", &suppressed));
  int allowed = 0;
  for (int i = 4; i < 1000; ++i) allowed += limiter.Allow(absl::StrCat("key", i), &suppressed);
  CHECK(allowed == 0);
  CHECK_FALSE(limiter.Allow("key0", &suppressed));  // it kept its own
  clock.Advance(absl::Seconds(10));
  for (int i = 2000; i < 2003; ++i) CHECK(limiter.Allow(absl::StrCat("key", i), &suppressed));
}

}  // namespace
}  // namespace sightline
