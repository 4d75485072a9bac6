#include "common/replicas/retry_budget.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);

int SpendAll(RetryBudget* budget, absl::Time now) {
  int spent = 0;
  while (budget->Spend(now, RetryBudget::Need::kFailed)) ++spent;
  return spent;
}

TEST_CASE("there is a burst at first and then nothing") {
  RetryBudget budget({/*share=*/0, /*per_second=*/0, /*burst=*/7});
  CHECK(SpendAll(&budget, kStart) == 7);
  CHECK(SpendAll(&budget, kStart + absl::Hours(1)) == 0);
}

TEST_CASE("calls earn their share") {
  RetryBudget budget({/*share=*/0.25, /*per_second=*/0, /*burst=*/20});
  SpendAll(&budget, kStart);
  for (int i = 0; i < 40; ++i) budget.Earn();
  CHECK(SpendAll(&budget, kStart) == 10);
}

TEST_CASE("time earns some in any case") {
  RetryBudget budget({/*share=*/0, /*per_second=*/4, /*burst=*/20});
  SpendAll(&budget, kStart);
  CHECK(SpendAll(&budget, kStart + absl::Milliseconds(500)) == 2);
  CHECK(SpendAll(&budget, kStart + absl::Milliseconds(1500)) == 4);
  // A thread that looked at its clock a moment earlier earns nothing twice.
  CHECK(SpendAll(&budget, kStart) == 0);
  CHECK(SpendAll(&budget, kStart + absl::Milliseconds(1500)) == 0);
}

TEST_CASE("slow calls leave the reserve to those that failed") {
  RetryBudget budget({/*share=*/1, /*per_second=*/0, /*burst=*/10, /*reserve=*/0.7});
  int spent = 0;
  while (budget.Spend(kStart, RetryBudget::Need::kSlow)) ++spent;
  CHECK(spent == 3);
  CHECK(SpendAll(&budget, kStart) == 7);
  for (int i = 0; i < 7; ++i) budget.Earn();
  CHECK(!budget.Spend(kStart, RetryBudget::Need::kSlow));
  budget.Earn();
  CHECK(budget.Spend(kStart, RetryBudget::Need::kSlow));
}

TEST_CASE("no more than the burst is saved up") {
  RetryBudget budget({/*share=*/1, /*per_second=*/10, /*burst=*/5});
  SpendAll(&budget, kStart);
  for (int i = 0; i < 100; ++i) budget.Earn();
  CHECK(SpendAll(&budget, kStart + absl::Hours(1)) == 5);
}

}  // namespace
}  // namespace sightline
