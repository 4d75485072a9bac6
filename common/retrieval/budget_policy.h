// How a request's time is split over its stages.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_BUDGET_POLICY_H_
#define SIGHTLINE_COMMON_RETRIEVAL_BUDGET_POLICY_H_

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace sightline {

struct BudgetNeeds {
  bool encode = false;
  bool rerank = false;
};

// The moment by which each stage must have ended.  encode <= search <= rerank <= answer
// <= the request's deadline; a stage that is not needed gives its share to the others.
struct StageDeadlines {
  absl::Time encode;
  absl::Time search;
  absl::Time rerank;
  absl::Time answer;
};

// Thread-safe.
class BudgetPolicy {
 public:
  virtual ~BudgetPolicy() = default;
  virtual StageDeadlines Split(absl::Time now, absl::Time deadline,
                               const BudgetNeeds& needs) const = 0;
};

// Shares of the time that is left after the reserve.  What one stage leaves unused, the
// next may use.
struct BudgetShares {
  double encode = 0.35;
  double search = 0.25;
  double rerank = 0.40;
  // Kept back for merging, fetching captions and sending the answer: this part of the
  // whole, but at least `min_reserve` and at most `max_reserve`.
  double reserve = 0.10;
  absl::Duration min_reserve = absl::Milliseconds(2);
  absl::Duration max_reserve = absl::Milliseconds(50);
};

// InvalidArgument unless every share is positive and finite, reserve is below 0.9, and
// 0 <= min_reserve <= max_reserve, both finite.
absl::Status Validate(const BudgetShares& shares);

// `shares` have passed Validate.  When not even the reserve is left, every stage ends
// at `now` and only the deadline itself lies later.  Without a deadline nothing ends.
class FixedShareBudget : public BudgetPolicy {
 public:
  explicit FixedShareBudget(BudgetShares shares) : shares_(shares) {}
  StageDeadlines Split(absl::Time now, absl::Time deadline,
                       const BudgetNeeds& needs) const override;

 private:
  BudgetShares shares_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_BUDGET_POLICY_H_
