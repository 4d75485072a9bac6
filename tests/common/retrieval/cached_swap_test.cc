// Searches whose answers are kept while their index goes from generation to generation.  Its
// worth is in what the thread sanitizer sees, too.
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/catch.h"
#include "tests/support/handlers.h"
#include "tests/support/replicate.h"

namespace sightline {
namespace {

constexpr int kQuestions = 5;
constexpr int kDepth = 12;
constexpr int64_t kRoom = 1 << 20;

std::string Question(int i) {
  return absl::StrCat("fish ", i % kQuestions);
}

GenerationInfo Renamed(GenerationInfo info) {
  info.ref.generation = "generation-8";
  return info;
}

// Nearly the same names, but the items lie elsewhere and in other rows: whoever takes a score or a
// place of the other generation gives another order.
std::vector<StoredItem> Moved() {
  std::vector<StoredItem> items;
  for (int i = 7; i < 47; ++i) {
    StoredItem item;
    item.item_id = absl::StrCat("image-", i);
    item.caption = "of generation-8";
    item.embedding = EmbeddingOf(absl::StrCat("moved ", i));
    items.push_back(std::move(item));
  }
  return items;
}

WorldOptions Caching(int64_t bytes) {
  WorldOptions options;
  options.caches = {bytes, bytes, bytes};
  options.retriever.default_depth = kDepth;
  options.retriever.fit_depth = false;  // how deep is not what is asked here
  return options;
}

// "pictures" has two generations, each shard a replica with either.
struct SwappingWorld : World {
  // With so many bytes for each cache.
  explicit SwappingWorld(int64_t bytes = kRoom)
      : World(Caching(bytes)), newer(Renamed(*pictures.info()), Moved()) {
    for (int shard = 0; shard < 3; ++shard) {
      backends.shards["pictures"][shard] = Replicate<IndexSearchClient>(
          ReplicatedIndexSearch, {pictures.clients()[shard], newer.clients()[shard]});
    }
    backends.reranker = std::make_shared<FakeReranker>(
        [this](const RerankSide& query, const RerankSide& candidate) {
          const StoredRef& stored = std::get<StoredRef>(candidate);
          const FakeIndex& index = stored.target == newer.info()->ref ? newer : pictures;
          return MatchOf(NameOf(query), index.item(stored).item_id);
        });
    for (const FakeIndex* index : {&pictures, &newer}) {
      for (int i = 0; i < kQuestions; ++i) {
        right[index == &newer].push_back(Referee(*index, Question(i), 40, kDepth, Combination{}));
      }
    }
  }

  // Requests go to the older one after an even number of swaps.
  void Pin(int swaps) { catalog.Set(swaps % 2 == 0 ? pictures.info() : newer.info()); }

  // Of an answer to question `i`, begun after `before` swaps and ended when `after` had begun.
  std::string Complaint(const absl::StatusOr<SearchResult>& result, int i, int before, int after) {
    if (!result.ok()) return result.status().ToString();
    const bool is_newer = result->target.generation == "generation-8";
    if (before == after && is_newer != (before % 2 == 1)) {
      return absl::StrCat("an answer of ", result->target.generation, " after ", before, " swaps");
    }
    std::vector<std::string> wanted = right[is_newer][i % kQuestions];
    wanted.resize(result->hits.size());
    if (result->hits.empty() || !result->degraded.empty() || Ids(result->hits) != wanted) {
      return absl::StrCat("hits that ", result->target.generation, " does not have");
    }
    for (const Hit& hit : result->hits) {
      if ((hit.caption == "of generation-8") != is_newer) return "a record of the other generation";
    }
    return "";
  }

  FakeIndex newer;
  std::vector<std::vector<std::string>> right[2];  // by generation and question
};

SearchRequest Asking(int i, int top_k = 10) {
  SearchRequest request = TextSearch(Question(i));
  request.top_k = top_k;
  return request;
}

TEST_CASE("a swap forgets no answer and gives none of another generation") {
  SwappingWorld world;
  for (int swaps = 0; swaps < 6; ++swaps) {
    world.Pin(swaps);
    for (int i = 0; i < 2 * kQuestions; ++i) {
      const auto result = world.retriever.Search(Asking(i), world.Call());
      CHECK(world.Complaint(result, i, swaps, swaps) == "");
      // A generation that comes back still has its answers.
      CHECK(result->from_cache == (i >= kQuestions || swaps >= 2));
    }
  }
}

TEST_CASE("an answer under way when its generation goes is no answer of the next") {
  SwappingWorld world;
  world.encoder->behaviour().Hold();
  absl::StatusOr<SearchResult> older = absl::UnknownError("");
  std::thread thread([&] { older = world.retriever.Search(Asking(0), world.Call()); });
  world.encoder->behaviour().AwaitCalls(1);
  world.Pin(1);
  world.encoder->behaviour().AnswerNow();
  const auto newer = world.retriever.Search(Asking(0), world.Call());
  CHECK(world.Complaint(newer, 0, 1, 1) == "");
  world.encoder->behaviour().Release();
  thread.join();
  CHECK(world.Complaint(older, 0, 0, 0) == "");
  CHECK(world.Complaint(world.retriever.Search(Asking(0), world.Call()), 0, 1, 1) == "");
}

TEST_CASE("under questions from many threads no swap gives an answer of another generation") {
  constexpr int kThreads = 4, kSwaps = 200;
  // There is room for a few of the ten questions and generations, and of their eight answers.
  SwappingWorld world(/*bytes=*/6'000);
  Handlers workers(2);
  // The encoder answers from elsewhere, so that equal questions do meet.
  class Elsewhere : public QueryEncoderClient {
   public:
    Elsewhere(std::shared_ptr<FakeEncoder> inner, Handlers* workers)
        : inner_(std::move(inner)), workers_(workers) {}
    void EncodeQueries(const CallContext& call, EncodeRequest request,
                       Done<EncodeResponse> done) override {
      inner_->EncodeQueries(
          call, std::move(request),
          [this, done = std::move(done)](absl::StatusOr<EncodeResponse> answer) {
            auto moved = std::make_shared<absl::StatusOr<EncodeResponse>>(std::move(answer));
            workers_->Run([done, moved] { done(std::move(*moved)); });
          });
    }

   private:
    const std::shared_ptr<FakeEncoder> inner_;
    Handlers* const workers_;
  };
  world.backends.encoder = std::make_shared<Elsewhere>(world.encoder, &workers);

  // Hits and misses of each cache so far.
  const auto counted = [&world] {
    std::vector<int64_t> counts;
    for (const CacheStatus& cache : world.caches.Describe()) {
      counts.push_back(cache.hits + cache.shared);
      counts.push_back(cache.misses);
    }
    return counts;
  };

  std::atomic<int> begun{0}, done{0}, answers{0};
  std::atomic<bool> stop{false};
  std::vector<std::string> complaints(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      while (!stop) {
        const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(30));
        const int before = done, i = static_cast<int>(random() % kQuestions);
        const SearchRequest request = Asking(i, 1 + static_cast<int>(random() % 8));
        const auto result = world.retriever.Search(request, call);
        const std::string complaint = world.Complaint(result, i, before, begun);
        if (complaints[t].empty()) complaints[t] = complaint;
        ++answers;
      }
    });
  }
  std::vector<int64_t> counts = counted();
  for (int swap = 1; swap <= kSwaps; ++swap) {
    begun = swap;
    world.Pin(swap);
    done = swap;
    const int until = answers + 10;
    while (answers < until) std::this_thread::yield();
    if (swap % 50 != 0) continue;
    // To the end there is something to find, and something to compute.
    const std::vector<int64_t> more = counted();
    for (size_t i = 0; i < counts.size(); ++i) {
      CAPTURE(swap, i);
      CHECK(more[i] > counts[i]);
    }
    counts = more;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const std::string& complaint : complaints) CHECK(complaint == "");
}

}  // namespace
}  // namespace sightline
