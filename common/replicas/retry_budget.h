// How much may be asked twice.
//
// Retries help while few calls fail and make it worse when all do: a fleet that is slow
// because it is full gets every call again.  So each call earns a part of a retry, and a
// retry that nobody has earned is not made.
#ifndef SIGHTLINE_COMMON_REPLICAS_RETRY_BUDGET_H_
#define SIGHTLINE_COMMON_REPLICAS_RETRY_BUDGET_H_

#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace sightline {

struct RetryBudgetOptions {
  double share = 0.2;     // of a retry that each call earns
  double per_second = 1;  // retries earned in any case, so that few calls can have some
  // The most that can be saved up, and what there is at first: for the calls that are under
  // way to a replica when it dies.
  double burst = 100;
  // The part of `burst` that is kept for calls that have failed.  One that is only slow may
  // be slow because the fleet is full; it should not be asked again a hundred times before
  // the budget notices.
  double reserve = 0.8;
};

// Thread-safe.
class RetryBudget {
 public:
  explicit RetryBudget(const RetryBudgetOptions& options)
      : options_(options), tokens_(options.burst) {}

  // A call has been made for its own sake.
  void Earn();

  enum class Need { kFailed, kSlow };

  // Takes one retry if there is one for that need.
  bool Spend(absl::Time now, Need need);

 private:
  const RetryBudgetOptions options_;
  Mutex mutex_;
  double tokens_ GUARDED_BY(mutex_);
  absl::Time updated_ GUARDED_BY(mutex_) = absl::InfiniteFuture();  // not yet
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_REPLICAS_RETRY_BUDGET_H_
