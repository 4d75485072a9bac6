#include "services/index_search/searchable_shard.h"

#include <algorithm>

#include "common/base/limits.h"

namespace sightline {
namespace {

bool IsExact(const SearchableShard& shard, int top_k, int effort, const RowSet* among) {
  if (among != nullptr && among->count() == 0) return true;
  SearchOptions options;
  options.top_k = top_k;
  options.effort = effort;
  options.among = among;
  return shard.index->IsExact(options);
}

int WantedEffort(const SearchableShard& shard, int top_k, const EffortWish& wish) {
  if (wish.effort.has_value()) return *wish.effort;
  return shard.efforts.EffortFor(wish.recall.has_value() ? *wish.recall : shard.default_recall,
                                 top_k);
}

}  // namespace

SearchPlan PlanSearch(const SearchableShard& shard, int64_t query_count, int top_k,
                      const EffortWish& wish, absl::Duration budget, const RowSet* among) {
  SearchPlan plan;
  if (IsExact(shard, top_k, /*effort=*/1, among)) {
    plan.shares_lists =
        among == nullptr && IsExact(shard, limits::kMaxNeighbors, /*effort=*/1, nullptr);
    return plan;
  }
  plan.effort = WantedEffort(shard, top_k, wish);
  if (budget != absl::InfiniteDuration() && !shard.efforts.empty()) {
    const double seconds =
        absl::ToDoubleSeconds(budget) / (shard.pace->factor() * static_cast<double>(query_count));
    const int most = shard.efforts.EffortWithin(seconds);
    plan.told.reduced = most < plan.effort;
    plan.effort = std::min(plan.effort, most);
  }
  plan.promised_seconds = shard.efforts.SecondsAt(plan.effort) * static_cast<double>(query_count);
  plan.told.exact = IsExact(shard, top_k, plan.effort, among);
  if (plan.told.exact) return plan;
  plan.told.recall = static_cast<float>(shard.efforts.RecallAt(plan.effort, top_k));
  plan.told.effort = plan.effort;
  return plan;
}

}  // namespace sightline
