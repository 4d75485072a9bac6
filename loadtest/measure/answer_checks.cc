#include "loadtest/measure/answer_checks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "common/bundle/tag_filter.h"

namespace sightline {
namespace {

// A score that is no number is in no order.
bool Ordered(const std::vector<Hit>& hits) {
  return std::none_of(hits.begin(), hits.end(), [](const Hit& h) { return std::isnan(h.score); }) &&
         std::is_sorted(hits.begin(), hits.end(), StandsBefore);
}

bool Unique(const std::vector<Hit>& hits) {
  absl::flat_hash_set<absl::string_view> seen;
  seen.reserve(hits.size());
  for (const Hit& hit : hits) {
    if (!seen.insert(hit.item_id).second) return false;
  }
  return true;
}

bool RowsHoldOneItemEach(const std::vector<Hit>& hits) {
  absl::flat_hash_map<std::pair<int, int64_t>, const Hit*> item_of_row;
  item_of_row.reserve(hits.size());
  for (const Hit& hit : hits) {
    const auto [row, added] = item_of_row.try_emplace({hit.shard, hit.row}, &hit);
    if (!added && row->second->item_id != hit.item_id) return false;
  }
  return true;
}

bool OfOneGeneration(const SearchRequest& request, const SearchResult& result) {
  const GenerationRef& target = result.target;
  if (target.index.empty() || target.generation.empty() || target.space.empty()) return false;
  if (!request.index.empty() && request.index != target.index) return false;
  return !request.want_records || RowsHoldOneItemEach(result.hits);
}

bool CoverageAddsUp(const SearchResult& result) {
  const int missing = result.shard_count - result.answered_shard_count;
  if (result.answered_shard_count < 1 || missing < 0) return false;
  if (result.unreachable.size() != static_cast<size_t>(missing)) return false;
  int given[kDegradedReasonCount] = {};
  for (const DegradedReason reason : result.degraded) {
    if (++given[static_cast<int>(reason)] > 1) return false;
  }
  return (given[static_cast<int>(DegradedReason::kShardsMissing)] > 0) == (missing > 0);
}

bool FoundItself(const SearchRequest& request, const SearchResult& result) {
  const auto* const item = std::get_if<ItemQuery>(&request.query);
  if (item == nullptr) return false;
  // The same id in another index is another item.
  if (!item->index.empty() && item->index != result.target.index) return false;
  return std::any_of(result.hits.begin(), result.hits.end(),
                     [item](const Hit& hit) { return hit.item_id == item->item_id; });
}

bool AllPass(const SearchRequest& request, const SearchResult& result) {
  if (request.filter.empty()) return true;
  if (static_cast<int64_t>(result.hits.size()) > result.matched_item_count) return false;
  const bool tagged =
      request.want_records && std::find(result.degraded.begin(), result.degraded.end(),
                                        DegradedReason::kRecordsMissing) == result.degraded.end();
  return !tagged || std::all_of(result.hits.begin(), result.hits.end(), [&request](const Hit& hit) {
    return Passes(request.filter, hit.tags);
  });
}

}  // namespace

std::vector<CheckFailure> CheckAnswer(const SearchRequest& request, const SearchResult& result,
                                      absl::Duration ended, absl::Duration deadline) {
  std::vector<CheckFailure> failures;
  const auto require = [&failures](bool holds, CheckFailure failure) {
    if (!holds) failures.push_back(failure);
  };
  require(Ordered(result.hits), CheckFailure::kOrder);
  require(Unique(result.hits), CheckFailure::kDuplicate);
  require(static_cast<int64_t>(result.hits.size()) <= request.top_k, CheckFailure::kTooMany);
  require(OfOneGeneration(request, result), CheckFailure::kMixedGeneration);
  require(CoverageAddsUp(result), CheckFailure::kCoverage);
  require(ended <= deadline + kDeliveryGrace, CheckFailure::kLate);
  require(!FoundItself(request, result), CheckFailure::kQueriedItem);
  require(AllPass(request, result), CheckFailure::kFilter);
  return failures;
}

bool AnyAmong(absl::Span<const std::string> known, absl::Span<const Hit> hits) {
  return std::any_of(hits.begin(), hits.end(), [known](const Hit& hit) {
    return std::find(known.begin(), known.end(), hit.item_id) != known.end();
  });
}

bool FirstAmong(absl::Span<const std::string> known, absl::Span<const Hit> hits) {
  return AnyAmong(known, hits.subspan(0, 1));
}

bool FirstRetrievedAmong(absl::Span<const std::string> known, absl::Span<const Hit> hits) {
  const auto before = [](const Hit& a, const Hit& b) {
    return a.retrieval_score != b.retrieval_score ? a.retrieval_score > b.retrieval_score
                                                  : a.item_id < b.item_id;
  };
  const auto first = std::min_element(hits.begin(), hits.end(), before);
  return first != hits.end() && AnyAmong(known, absl::MakeConstSpan(&*first, 1));
}

}  // namespace sightline
