#include "common/retrieval/budget_policy.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

absl::Status CheckShare(absl::string_view name, double share) {
  if (std::isfinite(share) && share > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("budget share '", name, "' is ", share, "; it must be positive and finite"));
}

absl::Duration Reserve(const BudgetShares& shares, absl::Duration whole) {
  return std::clamp(whole * shares.reserve, shares.min_reserve, shares.max_reserve);
}

}  // namespace

absl::Status Validate(const BudgetShares& shares) {
  for (const absl::Status& status :
       {CheckShare("encode", shares.encode), CheckShare("search", shares.search),
        CheckShare("rerank", shares.rerank), CheckShare("reserve", shares.reserve)}) {
    if (!status.ok()) return status;
  }
  if (shares.reserve >= 0.9) {
    return absl::InvalidArgumentError(absl::StrCat("budget share 'reserve' is ", shares.reserve,
                                                   "; it must be below 0.9, or no time to work "
                                                   "is left"));
  }
  if (shares.min_reserve < absl::ZeroDuration() || shares.max_reserve < shares.min_reserve ||
      shares.max_reserve == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("budget reserve runs from ", absl::FormatDuration(shares.min_reserve), " to ",
                     absl::FormatDuration(shares.max_reserve),
                     "; it must hold that 0 <= min_reserve <= max_reserve < infinity"));
  }
  return absl::OkStatus();
}

StageDeadlines FixedShareBudget::Split(absl::Time now, absl::Time deadline,
                                       const BudgetNeeds& needs) const {
  if (deadline == absl::InfiniteFuture()) return {deadline, deadline, deadline, deadline};
  if (deadline <= now) return {deadline, deadline, deadline, deadline};
  const absl::Duration whole = deadline - now;
  const absl::Duration reserve = Reserve(shares_, whole);
  if (reserve >= whole) return {now, now, now, now};

  const double encode = needs.encode ? shares_.encode : 0;
  const double rerank = needs.rerank ? shares_.rerank : 0;
  const double total = encode + shares_.search + rerank;
  const absl::Duration work = whole - reserve;
  StageDeadlines split;
  split.encode = now + work * (encode / total);
  // The last stage ends exactly where the reserve begins, whatever the rounding.
  split.rerank = deadline - reserve;
  split.search = needs.rerank
                     ? std::min(now + work * ((encode + shares_.search) / total), split.rerank)
                     : split.rerank;
  split.answer = deadline - reserve / 2;
  return split;
}

}  // namespace sightline
