// Many searches at once while backends answer from other threads, late, when cancelled
// and after the search has ended.  Its worth is in what the thread sanitizer sees.
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/retrieval/retriever.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/catch.h"
#include "tests/support/fiber_loop.h"
#include "tests/support/handlers.h"
#include "tests/support/replicate.h"

namespace sightline {
namespace {

// Backends that answer from the workers; some answers fail, some come only when the
// call has been cancelled.
template <typename T>
Done<T> Elsewhere(Handlers* workers, std::atomic<int>* counter, const CallContext& call,
                  Done<T> done) {
  const int number = counter->fetch_add(1);
  return [workers, number, call, done = std::move(done)](absl::StatusOr<T> answer) {
    if (number % 13 == 5) answer = absl::UnavailableError("restarting");
    // Moved all the way: a Status that two threads share counts references where the
    // thread sanitizer cannot see.
    auto moved = std::make_shared<absl::StatusOr<T>>(std::move(answer));
    auto send = [done, moved] { done(std::move(*moved)); };
    if (number % 11 == 3) {
      const auto own = std::make_shared<Cancellation::Registration>();  // which it holds itself
      *own = call.cancellation()->OnCancel([own, workers, send] { workers->Run(send); });
    } else {
      workers->Run(send);
    }
  };
}

class RestlessEncoder : public QueryEncoderClient {
 public:
  RestlessEncoder(std::shared_ptr<FakeEncoder> inner, Handlers* workers)
      : inner_(std::move(inner)), workers_(workers) {}
  void EncodeQueries(const CallContext& call, EncodeRequest request,
                     Done<EncodeResponse> done) override {
    inner_->EncodeQueries(
        call, std::move(request),
        [workers = workers_, done = std::move(done)](absl::StatusOr<EncodeResponse> answer) {
          auto moved = std::make_shared<absl::StatusOr<EncodeResponse>>(std::move(answer));
          workers->Run([done, moved] { done(std::move(*moved)); });
        });
  }

 private:
  const std::shared_ptr<FakeEncoder> inner_;
  Handlers* const workers_;
};

class RestlessShard : public IndexSearchClient {
 public:
  RestlessShard(std::shared_ptr<IndexSearchClient> inner, Handlers* workers)
      : inner_(std::move(inner)), workers_(workers) {}
  void SearchShard(const CallContext& call, SearchShardRequest request,
                   Done<SearchShardResponse> done) override {
    inner_->SearchShard(call, std::move(request),
                        Elsewhere(workers_, &calls_, call, std::move(done)));
  }
  void FetchItems(const CallContext& call, FetchItemsRequest request,
                  Done<FetchItemsResponse> done) override {
    inner_->FetchItems(call, std::move(request),
                       Elsewhere(workers_, &calls_, call, std::move(done)));
  }

 private:
  const std::shared_ptr<IndexSearchClient> inner_;
  Handlers* const workers_;
  std::atomic<int> calls_{0};
};

class RestlessReranker : public RerankerClient {
 public:
  RestlessReranker(std::shared_ptr<FakeReranker> inner, Handlers* workers)
      : inner_(std::move(inner)), workers_(workers) {}
  void RerankCandidates(const CallContext& call, RerankRequest request,
                        Done<RerankResponse> done) override {
    inner_->RerankCandidates(call, std::move(request),
                             Elsewhere(workers_, &calls_, call, std::move(done)));
  }

 private:
  const std::shared_ptr<FakeReranker> inner_;
  Handlers* const workers_;
  std::atomic<int> calls_{0};
};

// A world whose backends are restless.
struct RestlessWorld {
  RestlessWorld() {
    ReplicaOptions options;
    options.timer = std::make_shared<TimerThread>(Clock::Real());
    options.hedge = true;
    world.backends.encoder = std::make_shared<RestlessEncoder>(world.encoder, &workers);
    for (auto& [index, shards] : world.backends.shards) {
      for (auto& shard : shards) {
        shard = Replicate<IndexSearchClient>(ReplicatedIndexSearch,
                                             {std::make_shared<RestlessShard>(shard, &workers),
                                              std::make_shared<RestlessShard>(shard, &workers)},
                                             options);
      }
    }
    world.backends.reranker =
        Replicate<RerankerClient>(ReplicatedReranker,
                                  {std::make_shared<RestlessReranker>(world.reranker, &workers),
                                   std::make_shared<RestlessReranker>(world.reranker, &workers)},
                                  options);
  }

  // How many answers of so many searches were not whole.
  int WrongAmong(int searches, int asker) {
    int wrong = 0;
    for (int i = 0; i < searches; ++i) {
      SearchRequest request = TextSearch(absl::StrCat("fish ", asker, " ", i));
      if (i % 3 == 1) request.query = ImageQuery{absl::StrCat("image of ", asker, " ", i)};
      if (i % 3 == 2) request.query = ItemQuery{"pictures", absl::StrCat("image-", i)};
      // The real clock, because what is late must be late while others work.
      const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Milliseconds(40));
      if (i % 7 == 6) workers.Run([call] { call.cancellation()->Cancel(); });
      wrong += IsWhole(world.retriever.Search(request, call)) ? 0 : 1;
    }
    return wrong;
  }

  // How many were answered is a matter of this machine's speed; that none is lost for good is not.
  void CheckCalm() {
    world.backends.encoder = world.encoder;
    world.backends.reranker = world.reranker;
    world.backends.shards["pictures"] = world.pictures.clients();
    const auto calm = world.retriever.Search(TextSearch("a fish"), world.Call());
    REQUIRE(calm.ok());
    CHECK(Ids(calm->hits) == Referee(world.pictures, "a fish", 10, 20, Combination{}));
  }

  static bool IsWhole(const absl::StatusOr<SearchResult>& result) {
    if (!result.ok()) {
      const absl::StatusCode code = result.status().code();
      return code == absl::StatusCode::kDeadlineExceeded || code == absl::StatusCode::kCancelled ||
             code == absl::StatusCode::kUnavailable;
    }
    for (size_t h = 1; h < result->hits.size(); ++h) {
      const Hit& before = result->hits[h - 1];
      const Hit& hit = result->hits[h];
      const bool in_order =
          before.stage != hit.stage ? hit.stage == HitStage::kRetrieved : before.score >= hit.score;
      if (!in_order) return false;
    }
    return result->target.generation == "generation-7" &&
           result->answered_shard_count + static_cast<int>(result->unreachable.size()) == 3;
  }

  World world;
  Handlers workers{4};
};

TEST_CASE("searches from many threads are each whole, whatever the backends do") {
  constexpr int kThreads = 8;
  constexpr int kSearches = 25;
  RestlessWorld restless;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] { wrong += restless.WrongAmong(kSearches, t); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  restless.CheckCalm();
}

TEST_CASE("searches from many fibers of some threads are each whole") {
  constexpr int kThreads = 2;
  constexpr int kFibers = 8;
  constexpr int kSearches = 12;
  RestlessWorld restless;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      FiberLoop loop;
      for (int f = 0; f < kFibers; ++f) {
        loop.Start([&, f] { wrong += restless.WrongAmong(kSearches, t * kFibers + f); });
      }
      loop.RunAll();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  restless.CheckCalm();
}

}  // namespace
}  // namespace sightline
