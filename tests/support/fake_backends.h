// The services that retrieval calls, inside the test's process: each computes real
// answers over what it is given, and the test decides how and when they come.
//
//   FakeIndex index(info, items);             // as many shards as info says
//   FakeReranker reranker([](const RerankSide& query, const RerankSide& candidate) {...});
//   reranker.behaviour().Hold();              // calls are kept ...
//   reranker.behaviour().AwaitCalls(1);       // ... the first is there ...
//   reranker.behaviour().Release();           // ... and is answered, in this thread
#ifndef SIGHTLINE_TESTS_SUPPORT_FAKE_BACKENDS_H_
#define SIGHTLINE_TESTS_SUPPORT_FAKE_BACKENDS_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/api/clients.h"
#include "common/api/generation.h"
#include "common/api/item.h"
#include "common/api/query.h"
#include "common/base/call_context.h"
#include "common/base/mutex.h"
#include "common/retrieval/generation_catalog.h"

namespace sightline {

// How one call is answered.
struct FakeAnswer {
  enum class When {
    kNow,      // inside the call
    kHeld,     // by Release, cancelled or not: the way of a server that is only slow
    kOnCancel  // CANCELLED when the call is cancelled, and otherwise never
  };
  When when = When::kNow;
  absl::Status status;  // unless OK, the answer
};

// The test's hand on one fake.  Thread-safe.
class FakeBehaviour {
 public:
  // For all calls from now on.
  void AnswerNow() {
    Follow([](int) { return FakeAnswer{}; });
  }
  void Hold() {
    Follow([](int) { return FakeAnswer{FakeAnswer::When::kHeld, {}}; });
  }
  void Ignore() {
    Follow([](int) { return FakeAnswer{FakeAnswer::When::kOnCancel, {}}; });
  }
  void FailWith(absl::Status status) {
    Follow([status](int) { return FakeAnswer{FakeAnswer::When::kNow, status}; });
  }
  // Any mixture: `rule` is asked for each call, which are numbered from 0.
  void Follow(std::function<FakeAnswer(int call)> rule);
  // Runs in the caller's thread before each call is answered or held: moves a clock.
  void BeforeEach(std::function<void()> hook);

  // Answers all held calls, or the oldest, in this thread.
  void Release();
  void ReleaseOne();

  int calls() const;
  int held() const;
  int cancelled() const;  // calls that were answered CANCELLED
  // Blocks until there have been `count` calls, each answered, held or left by now.
  void AwaitCalls(int count);

  // For the fakes: runs `answer` with OK or with the error to give, once, as the rule
  // for this call says.  The error is its own, shared with no other thread.
  void Meet(const CallContext& call, std::function<void(absl::Status)> answer);

 private:
  mutable Mutex mutex_;
  CondVar called_;
  std::function<FakeAnswer(int)> rule_ GUARDED_BY(mutex_);
  std::function<void()> hook_ GUARDED_BY(mutex_);
  int calls_ GUARDED_BY(mutex_) = 0;
  int met_ GUARDED_BY(mutex_) = 0;  // answered, held or left
  std::vector<std::function<void()>> held_ GUARDED_BY(mutex_);
  // Shared with cancellations, which may outlive the fake.
  const std::shared_ptr<std::atomic<int>> cancelled_ = std::make_shared<std::atomic<int>>(0);
};

// Encodes by a function of the test.
class FakeEncoder : public QueryEncoderClient {
 public:
  using Encode = std::function<std::vector<float>(const EncodableQuery&)>;
  // `features` may be empty if nobody wants any.
  explicit FakeEncoder(Encode encode,
                       std::function<ItemFeatures(const EncodableQuery&)> features = nullptr)
      : encode_(std::move(encode)), features_(std::move(features)) {}

  void EncodeQueries(const CallContext& call, EncodeRequest request,
                     Done<EncodeResponse> done) override;

  FakeBehaviour& behaviour() { return *behaviour_; }
  EncodeRequest last_request() const;
  // What it says that it computes in, and refuses to be asked for another than.  Before calls.
  void ComputeIn(std::string precision) { precision_ = std::move(precision); }

 private:
  std::string precision_;
  const Encode encode_;
  const std::function<ItemFeatures(const EncodableQuery&)> features_;
  const std::shared_ptr<FakeBehaviour> behaviour_ = std::make_shared<FakeBehaviour>();
  mutable Mutex mutex_;
  EncodeRequest last_request_ GUARDED_BY(mutex_);
};

// One shard: exact search over its items that pass the filter by a naive scan, and their records.
// FAILED_PRECONDITION for another generation, INVALID_ARGUMENT for another dimension.
class FakeShard : public IndexSearchClient {
 public:
  // Of an index that is not searched exactly: which items a search looks at, and what it says of
  // itself.
  struct Approximation {
    std::function<bool(const StoredItem& item, const SearchShardRequest& request)> sees;
    std::function<SearchEffort(const SearchShardRequest& request)> effort;
  };

  FakeShard(GenerationRef generation, int shard, std::vector<StoredItem> items);

  void SearchShard(const CallContext& call, SearchShardRequest request,
                   Done<SearchShardResponse> done) override;
  void FetchItems(const CallContext& call, FetchItemsRequest request,
                  Done<FetchItemsResponse> done) override;

  FakeBehaviour& search() { return *search_; }
  FakeBehaviour& fetch() { return *fetch_; }
  // Before calls.
  void Approximate(Approximation how) { how_ = std::move(how); }
  // Searches answer items where they are wanted; by default none do, as servers did before they
  // could.
  void AnswerItems() { answers_items_ = true; }
  std::vector<SearchShardRequest> searches() const;                 // that there have been
  const std::vector<StoredItem>& items() const { return *items_; }  // in row order

 private:
  absl::Status CheckTarget(const GenerationRef& target) const;

  const GenerationRef generation_;
  const int shard_;
  const std::shared_ptr<const std::vector<StoredItem>> items_;
  Approximation how_;
  bool answers_items_ = false;
  mutable Mutex mutex_;
  std::vector<SearchShardRequest> searches_ GUARDED_BY(mutex_);
  const std::shared_ptr<FakeBehaviour> search_ = std::make_shared<FakeBehaviour>();
  const std::shared_ptr<FakeBehaviour> fetch_ = std::make_shared<FakeBehaviour>();
};

// A whole index: its items laid over shards as a generation on disk would.
class FakeIndex {
 public:
  // `info` says generation, content, dimension and number of shards; its item_count is
  // set here.  `items` need item_id and embedding; shard and row are set here.
  FakeIndex(GenerationInfo info, std::vector<StoredItem> items);

  std::shared_ptr<const GenerationInfo> info() const { return info_; }
  FakeShard& shard(int i) { return *shards_[i]; }
  // Of each shard.
  void Approximate(const FakeShard::Approximation& how) {
    for (const auto& shard : shards_) shard->Approximate(how);
  }
  // All items, shard by shard.
  std::vector<StoredItem> items() const;
  const StoredItem& item(const StoredRef& ref) const {
    return shards_[ref.shard]->items()[ref.row];
  }
  // For Backends::shards.
  std::vector<std::shared_ptr<IndexSearchClient>> clients() const;

 private:
  std::shared_ptr<const GenerationInfo> info_;
  std::vector<std::shared_ptr<FakeShard>> shards_;
};

// Scores by a function of the test, which gives raw scores.
class FakeReranker : public RerankerClient {
 public:
  using Score = std::function<float(const RerankSide& query, const RerankSide& candidate)>;
  explicit FakeReranker(Score score, ScoreKind kind = ScoreKind::kSoftmaxMatch)
      : score_(std::move(score)), kind_(kind) {}

  void RerankCandidates(const CallContext& call, RerankRequest request,
                        Done<RerankResponse> done) override;

  FakeBehaviour& behaviour() { return *behaviour_; }
  std::vector<RerankRequest> requests() const;
  // As FakeEncoder.
  void ComputeIn(std::string precision) { precision_ = std::move(precision); }

 private:
  std::string precision_;
  const Score score_;
  const ScoreKind kind_;
  const std::shared_ptr<FakeBehaviour> behaviour_ = std::make_shared<FakeBehaviour>();
  mutable Mutex mutex_;
  std::vector<RerankRequest> requests_ GUARDED_BY(mutex_);
};

// A catalog that the test fills.
class FakeCatalog : public GenerationCatalog {
 public:
  // An index that is configured but that no backend has reported yet.
  void Configure(absl::string_view index);
  // What is pinned from now on.  What was pinned before can be pinned by name.
  void Set(std::shared_ptr<const GenerationInfo> info);
  // No more of that, until it is set again.
  void Forget(const GenerationRef& generation);

  absl::StatusOr<std::shared_ptr<const GenerationInfo>> Pin(absl::string_view index) const override;
  absl::StatusOr<std::shared_ptr<const GenerationInfo>> PinGeneration(
      absl::string_view index, absl::string_view generation) const override;
  std::vector<std::shared_ptr<const GenerationInfo>> Known() const override;

 private:
  mutable Mutex mutex_;
  // Those not reported have an empty generation.
  std::map<std::string, std::shared_ptr<const GenerationInfo>> known_ GUARDED_BY(mutex_);
  // By index and generation.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const GenerationInfo>> held_
      GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_FAKE_BACKENDS_H_
