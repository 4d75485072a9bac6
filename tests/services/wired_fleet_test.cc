// A whole fleet in one process without a network: Retriever, replica sets, engines,
// schedulers and shards on disk are the real ones; only the model computes nothing and the
// clients call the engines directly.  What comes out is compared with a naive computation,
// and the thread sanitizer watches.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/api/clients.h"
#include "common/api/generation.h"
#include "common/api/query.h"
#include "common/api/search.h"
#include "common/base/clock.h"
#include "common/base/compute_pool.h"
#include "common/base/mutex.h"
#include "common/bundle/rerankers.h"
#include "common/retrieval/backends.h"
#include "common/retrieval/budget_policy.h"
#include "common/retrieval/retriever.h"
#include "services/index_search/search_engine.h"
#include "services/query_encoder/encode_engine.h"
#include "services/reranker/rerank_engine.h"
#include "tests/common/image/encode.h"
#include "tests/services/wired_clients.h"
#include "tests/services/word_store.h"
#include "tests/support/catch.h"
#include "tests/support/fake_backends.h"
#include "tests/support/fake_model.h"
#include "tests/support/ready_generation.h"
#include "tests/support/replicate.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// The second reranker of both indexes, which scores everything the other way round.
constexpr char kContrary[] = "contrary";

// Two replicas of everything: images in three shards, captions in two.
class Fleet {
 public:
  Fleet()
      : images(WriteWordIndex(dir_.path(), "images", false, 3, MakeWordItems("images", 90), {},
                              "g1", {{kContrary, contrary_->id()}})),
        captions(WriteWordIndex(dir_.path(), "captions", true, 2, MakeWordItems("captions", 70), {},
                                "g1", {{kContrary, contrary_->id()}})) {
    auto held = std::make_shared<EncoderGeneration>();
    held->encoder = model_;
    held->rerankers = {{kDefaultReranker, model_}, {kContrary, contrary_}};
    for (const WordIndex* index : {&images, &captions}) {
      PutReady<EncoderGeneration>(&encoder_generations_, index->manifest, held);
      PutReady<SearchGeneration>(&search_generations_, index->manifest,
                                 OpenForSearch(*index, &pool_, AllShards(*index)));
      PutReady<RerankGeneration>(&rerank_generations_, index->manifest,
                                 OpenForRerank(*index, {model_, contrary_}, AllShards(*index)));
      catalog_.Set(std::make_shared<GenerationInfo>(InfoOf(*index)));
    }
    encoder_generations_.table()->SetComplete();
    search_generations_.table()->SetComplete();
    rerank_generations_.table()->SetComplete();
    EncodeEngineOptions encode;
    encode.text = encode.image = encode.decode = SmallBatches();
    encode.decode.max_batch_size = 1;
    SearchEngineOptions search;
    search.batching = SmallBatches();
    search.max_queries = 64;
    RerankEngineOptions rerank;
    rerank.batching = SmallBatches();
    std::vector<std::shared_ptr<QueryEncoderClient>> encoders;
    std::vector<std::shared_ptr<RerankerClient>> rerankers;
    for (int replica = 0; replica < 2; ++replica) {
      encode_[replica] =
          std::make_unique<EncodeEngine>(encode, &encoder_generations_, Clock::Real());
      search_[replica] =
          std::make_unique<SearchEngine>(search, &search_generations_, Clock::Real());
      rerank_[replica] =
          std::make_unique<RerankEngine>(rerank, &rerank_generations_, Clock::Real());
      encoders.push_back(std::make_shared<WiredEncoder>(encode_[replica].get(), &handlers_));
      rerankers.push_back(std::make_shared<WiredReranker>(rerank_[replica].get(), &handlers_));
    }
    backends_.encoder = Replicate(ReplicatedEncoder, encoders);
    backends_.reranker = Replicate(ReplicatedReranker, rerankers);
    for (const WordIndex* index : {&images, &captions}) {
      for (int shard = 0; shard < index->manifest.shards_size(); ++shard) {
        std::vector<std::shared_ptr<IndexSearchClient>> replicas;
        for (const auto& engine : search_) {
          replicas.push_back(std::make_shared<WiredIndexSearch>(engine.get(), &handlers_));
        }
        backends_.shards[index->manifest.index()].push_back(
            Replicate(ReplicatedIndexSearch, replicas));
      }
    }
  }

  // In the midst of whatever is under way.
  void DrainReplica(int replica) {
    encode_[replica]->Drain();
    search_[replica]->Drain();
    rerank_[replica]->Drain();
  }

  const Retriever& retriever() const { return retriever_; }
  void Later(std::function<void()> task) { handlers_.Run(std::move(task)); }
  bool Busy() const {
    for (int r = 0; r < 2; ++r) {
      if (search_[r]->stats().queued_tasks + rerank_[r]->stats().queued_tasks +
              encode_[r]->stats().text.queued_tasks + encode_[r]->stats().image.queued_tasks >
          0) {
        return true;
      }
    }
    return false;
  }

 private:
  static GenerationInfo InfoOf(const WordIndex& index) {
    GenerationInfo info;
    info.ref = index.ref();
    info.content = index.captions ? IndexContent::kCaptions : IndexContent::kImages;
    info.dimension = FakeServingModel::kDimension;
    info.shard_count = index.manifest.shards_size();
    info.item_count = index.manifest.item_count();
    info.encoder_model = index.manifest.encoder_model();
    for (const NamedReranker& reranker : RerankersOf(index.manifest)) {
      info.rerankers.push_back({reranker.name, reranker.model, {}});
    }
    return info;
  }

  static std::shared_ptr<FakeServingModel> Contrary() {
    FakeServingModelOptions options;
    options.id = std::string(64, 'b');
    options.contrary = true;
    return std::make_shared<FakeServingModel>(options);
  }

  TempDir dir_;
  const std::shared_ptr<FakeServingModel> contrary_ = Contrary();

 public:
  const WordIndex images, captions;

 private:
  ComputePool pool_{2};
  const std::shared_ptr<FakeServingModel> model_ = std::make_shared<FakeServingModel>();
  GenerationRegistry<EncoderGeneration> encoder_generations_{Clock::Real()};
  GenerationRegistry<SearchGeneration> search_generations_{Clock::Real()};
  GenerationRegistry<RerankGeneration> rerank_generations_{Clock::Real()};
  std::unique_ptr<EncodeEngine> encode_[2];
  std::unique_ptr<SearchEngine> search_[2];
  std::unique_ptr<RerankEngine> rerank_[2];
  Handlers handlers_{12};  // ends before the engines
  Backends backends_;
  FakeCatalog catalog_;
  const FixedShareBudget budget_{BudgetShares{}};
  const Retriever retriever_{&backends_, &catalog_, &budget_, RetrieverOptions{}};
};

constexpr int kTopK = 7;
constexpr int kDepth = 12;

struct Asked {
  SearchRequest request;
  const WordIndex* index = nullptr;
  WordIds ids;            // of the query
  std::string left_out;   // the item that asks for its neighbours
  bool reranked = false;  // by a pair of text and image
  bool query_is_text = true;
};

// Number `i` of all kinds of queries.
Asked Ask(const Fleet& fleet, int i) {
  Asked asked;
  asked.request.top_k = kTopK;
  asked.request.depth = kDepth;
  asked.index = &fleet.images;
  const std::string words = absl::StrCat("red bird number", i % 40);
  asked.ids = IdsOf(words);
  if (i / 5 % 2 == 1) asked.request.reranker = kContrary;
  switch (i % 5) {
    case 0:
      asked.request.query = TextQuery{words};
      asked.reranked = true;
      break;
    case 1:
      asked.index = &fleet.captions;
      asked.request.query = RegionsQuery{ImageOf(asked.ids)};
      asked.query_is_text = false;
      asked.reranked = true;
      break;
    case 2:
      asked.index = &fleet.captions;
      asked.ids.resize(1);
      asked.request.query = ImageQuery{EncodePng(PictureOf(asked.ids[0], 9, 6))};
      asked.query_is_text = false;
      asked.reranked = true;
      break;
    case 3: {
      const WordItem& item = fleet.images.items[i % fleet.images.items.size()];
      asked.request.index = "images";
      asked.request.query = ItemQuery{"", item.item_id};
      asked.ids = IdsOf(item.words);
      asked.left_out = item.item_id;
      break;
    }
    default:
      asked.request.index = "images";
      asked.request.query = EmbeddingQuery{EmbeddingOf(asked.ids), fleet.images.ref().space};
  }
  return asked;
}

float Dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += double{a[k]} * b[k];
  return static_cast<float>(sum);
}

bool Near(float a, float b) {
  return std::abs(a - b) <= 1e-5f;
}

// Empty if a whole answer is what the naive computation says.
std::string Mistake(const Asked& asked, const SearchResult& result) {
  std::map<std::string, float> retrieval, rerank;
  std::vector<float> best;
  for (const WordItem& item : asked.index->items) {
    if (item.item_id == asked.left_out) continue;
    const WordIds ids = IdsOf(item.words);
    const float score = Dot(EmbeddingOf(asked.ids), EmbeddingOf(ids));
    retrieval[item.item_id] = score;
    const float pair =
        asked.query_is_text ? PairScoreOf(asked.ids, ids) : PairScoreOf(ids, asked.ids);
    rerank[item.item_id] = asked.request.reranker == kContrary ? 1 - pair : pair;
    best.push_back(score);
  }
  std::sort(best.begin(), best.end(), std::greater<float>());
  if (result.hits.size() != kTopK) return absl::StrCat(result.hits.size(), " hits");

  // The scores that the list must show: of the block of kDepth best the best reranked, or
  // simply the best.  Compared as numbers, since sums may differ in their last bits.
  std::vector<float> expected(best.begin(), best.begin() + kTopK);
  if (asked.reranked) {
    std::vector<float> block;
    for (const auto& [id, score] : retrieval) {
      if (score >= best[kDepth - 1] - 1e-6f) block.push_back(rerank.at(id));
    }
    if (block.size() != kDepth) return {};  // a tie at the block's edge: either is right
    std::sort(block.begin(), block.end(), std::greater<float>());
    expected.assign(block.begin(), block.begin() + kTopK);
  }
  for (int i = 0; i < kTopK; ++i) {
    const Hit& hit = result.hits[i];
    if (retrieval.count(hit.item_id) == 0) return absl::StrCat("a stranger: ", hit.item_id);
    if (!Near(hit.retrieval_score, retrieval.at(hit.item_id))) {
      return absl::StrCat(hit.item_id, " is given another item's retrieval score");
    }
    if (asked.reranked != hit.rerank_score.has_value()) return "a rerank score too many or few";
    if (asked.reranked && *hit.rerank_score != rerank.at(hit.item_id)) {
      return absl::StrCat(hit.item_id, " is given another item's rerank score");
    }
    if (!Near(hit.score, expected[i])) return absl::StrCat("hit ", i, " has not the best score");
  }
  return {};
}

// What is true of an answer that is less than whole.
std::string MistakeInPart(const Asked& asked, const SearchResult& result) {
  std::map<std::string, float> retrieval;
  for (const WordItem& item : asked.index->items) {
    retrieval[item.item_id] = Dot(EmbeddingOf(asked.ids), EmbeddingOf(IdsOf(item.words)));
  }
  for (size_t i = 0; i < result.hits.size(); ++i) {
    const Hit& hit = result.hits[i];
    if (retrieval.count(hit.item_id) == 0) return absl::StrCat("a stranger: ", hit.item_id);
    if (!Near(hit.retrieval_score, retrieval.at(hit.item_id))) return "a wrong score";
    if (i > 0 && result.hits[i - 1].stage == hit.stage && result.hits[i - 1].score < hit.score) {
      return "out of order";
    }
  }
  return {};
}

bool Whole(const SearchResult& result) {
  return std::all_of(result.degraded.begin(), result.degraded.end(), [](DegradedReason reason) {
    return reason == DegradedReason::kRecordsMissing;
  });
}

bool OnlyLessDeep(const SearchResult& result) {
  return result.degraded == std::vector<DegradedReason>{DegradedReason::kDepthReduced};
}

// The first mistake, said once all threads are done: Catch2 is not thread-safe.
class Notes {
 public:
  void Add(const std::string& mistake) {
    if (mistake.empty()) return;
    MutexLock lock(mutex_);
    if (first_.empty()) first_ = mistake;
  }
  std::string first() const {
    MutexLock lock(mutex_);
    return first_;
  }

 private:
  mutable Mutex mutex_;
  std::string first_ GUARDED_BY(mutex_);
};

TEST_CASE("every kind of query has the answer of a naive computation") {
  Fleet fleet;
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    const Asked asked = Ask(fleet, i);
    const auto result = fleet.retriever().Search(
        asked.request, CallContext(Clock::Real(), Clock::Real()->Now() + absl::Minutes(5)));
    REQUIRE(result.status() == absl::OkStatus());
    CHECK(result->degraded.empty());
    CHECK(Mistake(asked, *result) == "");
    CHECK(result->target.index == asked.index->manifest.index());
    const std::string& id = result->hits[0].item_id;
    const auto& items = asked.index->items;
    const auto item = std::find_if(items.begin(), items.end(),
                                   [&](const WordItem& w) { return w.item_id == id; });
    REQUIRE(item != items.end());
    CHECK(result->hits[0].caption == item->words);
  }
}

TEST_CASE("many callers with all kinds of patience get right answers or honest errors") {
  constexpr int kThreads = 8;
  constexpr int kSearches = 40;
  static constexpr int kPatienceMs[] = {1, 5, 20, 100, 300'000};
  Fleet fleet;
  Notes notes;
  std::atomic<int> whole{0}, patient{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kSearches; ++i) {
        const Asked asked = Ask(fleet, t * kSearches + i);
        // Coprime to the kinds of queries, so that all meet all.
        const int patience = kPatienceMs[(i * 2 + i / 5 + t) % 5];
        const bool impatient = i % 6 == 5;
        const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Milliseconds(patience));
        if (impatient) fleet.Later([call] { call.cancellation()->Cancel(); });
        const auto result = fleet.retriever().Search(asked.request, call);
        if (!result.ok()) {
          const absl::StatusCode code = result.status().code();
          const bool expected = code == absl::StatusCode::kDeadlineExceeded ||
                                code == absl::StatusCode::kResourceExhausted ||
                                (impatient && code == absl::StatusCode::kCancelled);
          if (!expected) notes.Add(result.status().ToString());
          if (patience > 1000 && !impatient) notes.Add("time enough, and no answer");
          continue;
        }
        if (Whole(*result)) {
          ++whole;
          notes.Add(Mistake(asked, *result));
        } else {
          notes.Add(MistakeInPart(asked, *result));
        }
        // On a slow machine those in a hurry fill the rerankers' queue, and all that come together
        // are reranked less deep (rerank_pace.h).
        if (patience > 1000 && !impatient && !OnlyLessDeep(*result)) {
          ++patient;
          if (!result->degraded.empty()) notes.Add("time enough, and less than the whole answer");
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(notes.first() == "");
  CHECK(whole >= patient);
  CHECK(patient > 0);
}

TEST_CASE("a replica that drains under load is replaced, and both can be drained") {
  constexpr int kThreads = 4;
  Fleet fleet;
  Notes notes;
  std::atomic<int> answered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        const Asked asked = Ask(fleet, t * 30 + i);
        const auto result = fleet.retriever().Search(
            asked.request, CallContext(Clock::Real(), Clock::Real()->Now() + absl::Minutes(5)));
        ++answered;
        if (!result.ok()) {
          notes.Add(result.status().ToString());
        } else {
          notes.Add(Whole(*result) ? Mistake(asked, *result) : "less than the whole answer");
        }
      }
    });
  }
  while (answered < 20) std::this_thread::yield();
  fleet.DrainReplica(1);
  for (std::thread& thread : threads) thread.join();
  CHECK(notes.first() == "");

  fleet.DrainReplica(0);
  CHECK(!fleet.Busy());
  const auto late = fleet.retriever().Search(
      Ask(fleet, 0).request, CallContext(Clock::Real(), Clock::Real()->Now() + absl::Minutes(5)));
  CHECK(absl::IsUnavailable(late.status()));
}

}  // namespace
}  // namespace sightline
