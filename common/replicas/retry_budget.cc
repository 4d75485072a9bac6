#include "common/replicas/retry_budget.h"

#include <algorithm>

namespace sightline {

void RetryBudget::Earn() {
  MutexLock lock(mutex_);
  tokens_ = std::min(options_.burst, tokens_ + options_.share);
}

bool RetryBudget::Spend(absl::Time now, Need need) {
  MutexLock lock(mutex_);
  if (now > updated_) {
    const double earned = options_.per_second * absl::ToDoubleSeconds(now - updated_);
    tokens_ = std::min(options_.burst, tokens_ + earned);
  }
  if (updated_ == absl::InfiniteFuture() || now > updated_) updated_ = now;
  const double kept = need == Need::kSlow ? options_.reserve * options_.burst : 0;
  if (tokens_ < kept + 1) return false;
  tokens_ -= 1;
  return true;
}

}  // namespace sightline
