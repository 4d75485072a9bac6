// A client that keeps how long answers to captions took.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_TIMED_SEARCH_CLIENT_H_
#define SIGHTLINE_SERVICES_EVALUATOR_TIMED_SEARCH_CLIENT_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/mutex.h"
#include "common/clients/search_client.h"
#include "common/evaluation/method.h"
#include "common/evaluation/score_timing.h"

namespace sightline {

// Thread-safe.  By the clock of each call, from the request to the answer; of refusals
// nothing, and nothing of degraded answers.
class TimedSearchClient : public SearchClient {
 public:
  // `client` outlives this, and this its calls.
  explicit TimedSearchClient(SearchClient* client) : client_(client) {}

  using SearchClient::SearchItems;
  void SearchItems(const CallContext& call, SearchRequest request,
                   Done<SearchResult> done) override;
  void ScorePairs(const CallContext& call, ScorePairsRequest request,
                  Done<ScorePairsResult> done) override;
  void GetItems(const CallContext& call, GetItemsRequest request,
                Done<GetItemsResult> done) override;

  // The median of the texts that were answered by the method, and how they spread; nothing where
  // none was.
  absl::optional<QueryTime> TimeOf(const Method& method) const;

 private:
  using Key = std::pair<int, std::string>;  // depth and combination
  static Key KeyOf(const Method& method) { return {method.depth, MethodText(method)}; }
  void Note(const Key& key, absl::Duration time);

  SearchClient* const client_;
  mutable Mutex mutex_;
  std::map<Key, std::vector<double>> seconds_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_TIMED_SEARCH_CLIENT_H_
