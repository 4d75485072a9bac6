// A fleet that answers as a function says.
#ifndef SIGHTLINE_TESTS_SERVICES_EVALUATOR_FAKE_SEARCH_CLIENT_H_
#define SIGHTLINE_TESTS_SERVICES_EVALUATOR_FAKE_SEARCH_CLIENT_H_

#include <functional>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/clients/search_client.h"

namespace sightline {

// Thread-safe if the function is.
class FakeSearchClient : public SearchClient {
 public:
  using Answer = std::function<absl::StatusOr<SearchResult>(const SearchRequest& request)>;

  explicit FakeSearchClient(Answer answer) : answer_(std::move(answer)) {}

  using SearchClient::SearchItems;
  void SearchItems(const CallContext&, SearchRequest request, Done<SearchResult> done) override {
    {
      MutexLock lock(mutex_);
      requests_.push_back(request);
    }
    done(answer_(request));
  }
  void ScorePairs(const CallContext&, ScorePairsRequest, Done<ScorePairsResult> done) override {
    done(absl::UnimplementedError("ScorePairs"));
  }
  void GetItems(const CallContext&, GetItemsRequest, Done<GetItemsResult> done) override {
    done(absl::UnimplementedError("GetItems"));
  }

  std::vector<SearchRequest> requests() const {
    MutexLock lock(mutex_);
    return requests_;
  }

 private:
  const Answer answer_;
  mutable Mutex mutex_;
  std::vector<SearchRequest> requests_ GUARDED_BY(mutex_);
};

inline Hit HitOf(const std::string& item_id) {
  Hit hit;
  hit.item_id = item_id;
  return hit;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_EVALUATOR_FAKE_SEARCH_CLIENT_H_
