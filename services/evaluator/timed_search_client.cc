#include "services/evaluator/timed_search_client.h"

#include <algorithm>
#include <variant>

namespace sightline {

void TimedSearchClient::SearchItems(const CallContext& call, SearchRequest request,
                                    Done<SearchResult> done) {
  if (!std::holds_alternative<TextQuery>(request.query)) {
    client_->SearchItems(call, std::move(request), std::move(done));
    return;
  }
  const Key key = KeyOf({request.depth.value_or(0), request.combination.value_or(Combination())});
  const auto timed = [this, key, clock = call.clock(), begin = call.clock()->Now(),
                      done = std::move(done)](absl::StatusOr<SearchResult> result) {
    if (result.ok() && result->degraded.empty()) Note(key, clock->Now() - begin);
    done(std::move(result));
  };
  client_->SearchItems(call, std::move(request), timed);
}

void TimedSearchClient::ScorePairs(const CallContext& call, ScorePairsRequest request,
                                   Done<ScorePairsResult> done) {
  client_->ScorePairs(call, std::move(request), std::move(done));
}

void TimedSearchClient::GetItems(const CallContext& call, GetItemsRequest request,
                                 Done<GetItemsResult> done) {
  client_->GetItems(call, std::move(request), std::move(done));
}

absl::optional<QueryTime> TimedSearchClient::TimeOf(const Method& method) const {
  MutexLock lock(mutex_);
  const auto found = seconds_.find(KeyOf(method));
  if (found == seconds_.end()) return absl::nullopt;
  std::vector<double> seconds = found->second;
  QueryTime time;
  time.spread = SpreadOf(seconds);
  const auto middle = seconds.begin() + static_cast<int64_t>(seconds.size()) / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  time.seconds = *middle;
  return time;
}

void TimedSearchClient::Note(const Key& key, absl::Duration time) {
  MutexLock lock(mutex_);
  seconds_[key].push_back(absl::ToDoubleSeconds(time));
}

}  // namespace sightline
