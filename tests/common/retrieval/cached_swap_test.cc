// Searches whose answers are kept while their index goes from generation to generation.  Its
// worth is in what the thread sanitizer sees, too.
#include <atomic>
#include <memory>
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

std::string Question(int i) {
  return absl::StrCat("fish ", i % kQuestions);
}

GenerationInfo Renamed(GenerationInfo info) {
  info.ref.generation = "generation-8";
  return info;
}

// Items of the same names that lie elsewhere, so that only their order tells the generations
// apart.
std::vector<StoredItem> Moved() {
  std::vector<StoredItem> items;
  for (int i = 0; i < 40; ++i) {
    StoredItem item;
    item.item_id = absl::StrCat("image-", i);
    item.caption = "of generation-8";
    item.embedding = EmbeddingOf(absl::StrCat("moved ", i));
    items.push_back(std::move(item));
  }
  return items;
}

WorldOptions Caching() {
  WorldOptions options;
  options.caches = {1 << 20, 1 << 20, 1 << 20};
  return options;
}

// "pictures" has two generations, each shard a replica with either.
struct SwappingWorld : World {
  SwappingWorld() : World(Caching()), newer(Renamed(*pictures.info()), Moved()) {
    for (int shard = 0; shard < 3; ++shard) {
      backends.shards["pictures"][shard] = Replicate<IndexSearchClient>(
          ReplicatedIndexSearch, {pictures.clients()[shard], newer.clients()[shard]});
    }
    for (const FakeIndex* index : {&pictures, &newer}) {
      for (int i = 0; i < kQuestions; ++i) {
        right[index == &newer].push_back(Referee(*index, Question(i), 10, 0, Combination{}));
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
    if (Ids(result->hits) != right[is_newer][i % kQuestions]) {
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

SearchRequest Retrieval(int i) {
  SearchRequest request = TextSearch(Question(i));
  request.depth = 0;
  return request;
}

TEST_CASE("a swap forgets no answer and gives none of another generation") {
  SwappingWorld world;
  for (int swaps = 0; swaps < 6; ++swaps) {
    world.Pin(swaps);
    for (int i = 0; i < 2 * kQuestions; ++i) {
      const auto result = world.retriever.Search(Retrieval(i), world.Call());
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
  std::thread thread([&] { older = world.retriever.Search(Retrieval(0), world.Call()); });
  world.encoder->behaviour().AwaitCalls(1);
  world.Pin(1);
  world.encoder->behaviour().AnswerNow();
  const auto newer = world.retriever.Search(Retrieval(0), world.Call());
  CHECK(world.Complaint(newer, 0, 1, 1) == "");
  world.encoder->behaviour().Release();
  thread.join();
  CHECK(world.Complaint(older, 0, 0, 0) == "");
  CHECK(world.Complaint(world.retriever.Search(Retrieval(0), world.Call()), 0, 1, 1) == "");
}

TEST_CASE("under questions from many threads no swap gives an answer of another generation") {
  constexpr int kThreads = 4, kSwaps = 200;
  SwappingWorld world;
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

  std::atomic<int> begun{0}, done{0}, answers{0}, from_cache{0};
  std::atomic<bool> stop{false};
  std::vector<std::string> complaints(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; !stop; ++i) {
        const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(30));
        const int before = done;
        SearchRequest request = Retrieval(i);
        // A number that comes again after a swap or two, and not before: so both are asked for,
        // what is kept and what is not.
        request.top_k = 10;
        const auto result = world.retriever.Search(request, call);
        const std::string complaint = world.Complaint(result, i, before, begun);
        if (complaints[t].empty()) complaints[t] = complaint;
        if (result.ok() && result->from_cache) ++from_cache;
        ++answers;
      }
    });
  }
  for (int swap = 1; swap <= kSwaps; ++swap) {
    begun = swap;
    world.Pin(swap);
    done = swap;
    const int until = answers + 5;
    while (answers < until) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const std::string& complaint : complaints) CHECK(complaint == "");
  CHECK(from_cache > 0);
}

}  // namespace
}  // namespace sightline
