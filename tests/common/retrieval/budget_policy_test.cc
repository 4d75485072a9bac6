#include "common/retrieval/budget_policy.h"

#include <limits>

#include "tests/support/catch.h"

namespace sightline {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'000'000'000);

double Ms(absl::Time time) {
  return absl::ToDoubleMilliseconds(time - kNow);
}

StageDeadlines Split(absl::Duration allowed, const BudgetNeeds& needs) {
  return FixedShareBudget(BudgetShares{}).Split(kNow, kNow + allowed, needs);
}

TEST_CASE("a second is split by shares after the reserve") {
  const StageDeadlines split = Split(absl::Seconds(1), {true, true});
  CHECK(Ms(split.encode) == Approx(332.5));  // 0.35 of what 50 ms of reserve leave
  CHECK(Ms(split.search) == Approx(570));    // and 0.25 more
  CHECK(Ms(split.rerank) == Approx(950));
  CHECK(Ms(split.answer) == Approx(975));
}

TEST_CASE("a stage that is not needed gives its share to the others") {
  const StageDeadlines retrieval = Split(absl::Seconds(1), {true, false});
  CHECK(Ms(retrieval.encode) == Approx(950 * 0.35 / 0.60));
  CHECK(Ms(retrieval.search) == Approx(950));
  CHECK(retrieval.rerank == retrieval.search);

  const StageDeadlines encoded = Split(absl::Seconds(1), {false, true});
  CHECK(encoded.encode == kNow);
  CHECK(Ms(encoded.search) == Approx(950 * 0.25 / 0.65));
  CHECK(Ms(encoded.rerank) == Approx(950));
}

TEST_CASE("the reserve is a share of the whole within its bounds") {
  CHECK(Ms(Split(absl::Milliseconds(10), {}).rerank) == Approx(8));       // the least, 2 ms
  CHECK(Ms(Split(absl::Milliseconds(100), {}).rerank) == Approx(90));     // a tenth
  CHECK(Ms(Split(absl::Seconds(10), {}).rerank) == Approx(10'000 - 50));  // the most, 50 ms
}

TEST_CASE("stages end in order and before the deadline, however long it is") {
  for (int us = 1; us < 2'000'000; us = us * 3 / 2 + 1) {
    for (int needs = 0; needs < 4; ++needs) {
      const absl::Duration allowed = absl::Microseconds(us);
      const StageDeadlines split = Split(allowed, {(needs & 1) != 0, (needs & 2) != 0});
      INFO("microseconds " << us << ", needs " << needs);
      CHECK(kNow <= split.encode);
      CHECK(split.encode <= split.search);
      CHECK(split.search <= split.rerank);
      CHECK(split.rerank <= split.answer);
      CHECK(split.answer < kNow + allowed);
    }
  }
}

TEST_CASE("a deadline that only holds the reserve leaves no time to work") {
  const StageDeadlines split = Split(absl::Milliseconds(2), {true, true});
  CHECK(split.encode == kNow);
  CHECK(split.answer == kNow);
}

TEST_CASE("a deadline that has passed stays where it is") {
  const StageDeadlines split = Split(-absl::Seconds(1), {true, true});
  CHECK(split.encode == kNow - absl::Seconds(1));
  CHECK(split.answer == kNow - absl::Seconds(1));
}

TEST_CASE("without a deadline no stage ends") {
  const StageDeadlines split =
      FixedShareBudget(BudgetShares{}).Split(kNow, absl::InfiniteFuture(), {true, true});
  CHECK(split.encode == absl::InfiniteFuture());
  CHECK(split.answer == absl::InfiniteFuture());
}

TEST_CASE("shares must be positive and finite") {
  CHECK(Validate(BudgetShares{}).ok());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -0.1, nan, infinity}) {
    for (double BudgetShares::*share : {&BudgetShares::encode, &BudgetShares::search,
                                        &BudgetShares::rerank, &BudgetShares::reserve}) {
      BudgetShares shares;
      shares.*share = bad;
      CHECK(absl::IsInvalidArgument(Validate(shares)));
    }
  }
}

TEST_CASE("the reserve must leave time to work and have bounds in order") {
  BudgetShares shares;
  shares.reserve = 0.9;
  CHECK(absl::IsInvalidArgument(Validate(shares)));
  shares = BudgetShares{};
  shares.min_reserve = absl::Milliseconds(60);
  CHECK(absl::IsInvalidArgument(Validate(shares)));
  shares = BudgetShares{};
  shares.min_reserve = -absl::Milliseconds(1);
  CHECK(absl::IsInvalidArgument(Validate(shares)));
  shares = BudgetShares{};
  shares.max_reserve = absl::InfiniteDuration();
  CHECK(absl::IsInvalidArgument(Validate(shares)));
}

}  // namespace
}  // namespace sightline
