#include "services/index_search/searchable_shard.h"

#include <algorithm>

#include "common/base/limits.h"

namespace sightline {
namespace {

SearchOptions OptionsOf(int top_k, int effort, const RowSet* among) {
  SearchOptions options;
  options.top_k = top_k;
  options.effort = effort;
  options.among = among;
  return options;
}

bool IsExact(const SearchableShard& shard, int top_k, int effort, const RowSet* among) {
  if (among != nullptr && among->count() == 0) return true;
  return shard.index->IsExact(OptionsOf(top_k, effort, among));
}

// The least effort that finds as much as `effort`: what is beyond all that there is, is all.
int LeastAsGood(const SearchableShard& shard, int top_k, int effort, const RowSet* among) {
  if (!IsExact(shard, top_k, effort, among)) return effort;
  int below = 0;  // is not exact
  while (effort - below > 1) {
    const int middle = below + (effort - below) / 2;
    (IsExact(shard, top_k, middle, among) ? effort : below) = middle;
  }
  return effort;
}

int WantedEffort(const SearchableShard& shard, int top_k, const EffortWish& wish) {
  if (wish.effort.has_value()) return *wish.effort;
  return shard.efforts.EffortFor(wish.recall.has_value() ? *wish.recall : shard.default_recall,
                                 top_k);
}

}  // namespace

ShardSearchPlan PlanSearch(const SearchableShard& shard, int64_t query_count, int top_k,
                           const EffortWish& wish, absl::Duration budget, const RowSet* among) {
  ShardSearchPlan plan;
  if (IsExact(shard, top_k, /*effort=*/1, among)) {
    plan.shares_lists =
        among == nullptr && IsExact(shard, limits::kMaxNeighbors, /*effort=*/1, nullptr);
    return plan;
  }
  plan.effort = LeastAsGood(shard, top_k, WantedEffort(shard, top_k, wish), among);
  const double work =
      static_cast<double>(query_count) * shard.index->WorkOf(OptionsOf(top_k, plan.effort, among));
  if (budget != absl::InfiniteDuration() && !shard.efforts.empty()) {
    const int most = shard.efforts.EffortWithin(shard.pace->PromiseWithin(budget) / work);
    plan.told.reduced = most < plan.effort;
    plan.effort = std::min(plan.effort, most);
  }
  plan.told.exact = IsExact(shard, top_k, plan.effort, among);
  if (plan.told.exact) return plan;
  plan.promised_seconds = shard.efforts.SecondsAt(plan.effort) * work;
  plan.told.recall = static_cast<float>(shard.efforts.RecallAt(plan.effort, top_k));
  plan.told.effort = plan.effort;
  return plan;
}

}  // namespace sightline
