#include "services/index_search/search_engine.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "tests/services/word_store.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"
#include "tests/support/ready_generation.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Found = absl::StatusOr<SearchShardResponse>;

// Stops the first search that enters it, until it is told.
class HeldIndex : public VectorIndex {
 public:
  HeldIndex(std::unique_ptr<VectorIndex> inner, Gate* entered, Gate* release,
            std::vector<int64_t>* batches)
      : inner_(std::move(inner)), entered_(entered), release_(release), batches_(batches) {}

  absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(
      const EmbeddingMatrix& queries, const SearchOptions& options,
      const CallContext& call) const override {
    batches_->push_back(queries.rows());  // one worker
    entered_->Open();
    release_->Wait();
    return inner_->Search(queries, options, call);
  }
  bool IsExact(const SearchOptions& options) const override { return inner_->IsExact(options); }
  int64_t byte_count() const override { return inner_->byte_count(); }
  int dimension() const override { return inner_->dimension(); }
  int64_t size() const override { return inner_->size(); }

 private:
  const std::unique_ptr<VectorIndex> inner_;
  Gate* const entered_;
  Gate* const release_;
  std::vector<int64_t>* const batches_;
};

// Three shards of which this server holds 0 and 2.
struct Rig {
  explicit Rig(int items = 60, SearchEngineOptions options = {})
      : index(WriteWordIndex(dir.path(), "images", false, 3, MakeWordItems("images", items))) {
    auto held = std::const_pointer_cast<SearchGeneration>(OpenForSearch(index, &pool, {0, 2}));
    auto& first = const_cast<SearchableShard&>(*held->shards.at(0));
    first.index = std::make_unique<HeldIndex>(std::move(first.index), &entered, &release, &batches);
    PutReady<SearchGeneration>(&generations, index.manifest, held);
    generations.table()->SetComplete();
    engine = std::make_unique<SearchEngine>(options, &generations, &clock);
  }
  ~Rig() { release.Open(); }

  SearchShardRequest Request(int shard, const std::vector<std::string>& texts, int top_k) const {
    SearchShardRequest request;
    request.target = index.ref();
    request.shard = shard;
    request.top_k = top_k;
    request.queries = EmbeddingMatrix(texts.size(), FakeServingModel::kDimension);
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::vector<float> row = EmbeddingOf(IdsOf(texts[i]));
      std::copy(row.begin(), row.end(), request.queries.mutable_row(i).begin());
    }
    return request;
  }
  CallContext Call() { return CallContext(&clock, clock.Now() + absl::Seconds(10)); }
  Found Search(const SearchShardRequest& request) { return engine->SearchShard(request, Call()); }
  std::unique_ptr<Background<Found>> Start(const SearchShardRequest& request,
                                           const CallContext& call) {
    return std::make_unique<Background<Found>>(
        [this, request, call] { return engine->SearchShard(request, call); });
  }
  absl::StatusOr<FetchItemsResponse> Fetch(int shard, std::vector<std::string> ids,
                                           std::vector<int64_t> rows, bool embeddings = false) {
    return engine->FetchItems({index.ref(), shard, std::move(ids), std::move(rows), embeddings},
                              Call());
  }

  TempDir dir;
  FakeClock clock;
  Gate entered, release;
  std::vector<int64_t> batches;
  ComputePool pool{1};
  WordIndex index;
  GenerationRegistry<SearchGeneration> generations{Clock::Real()};
  std::unique_ptr<SearchEngine> engine;
};

// The best `top_k` of a shard, item by item.
std::vector<std::pair<std::string, float>> Referee(const WordIndex& index, int shard,
                                                   const std::string& text, int top_k) {
  const std::vector<float> query = EmbeddingOf(IdsOf(text));
  std::vector<std::pair<std::string, float>> all;
  for (const WordItem& item : index.ItemsOf(shard)) {
    const std::vector<float> row = EmbeddingOf(IdsOf(item.words));
    double sum = 0;
    for (size_t k = 0; k < row.size(); ++k) sum += double{row[k]} * query[k];
    all.emplace_back(item.item_id, static_cast<float>(sum));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (all.size() > static_cast<size_t>(top_k)) all.resize(top_k);
  return all;
}

void CheckAnswer(const Rig& rig, const Found& found, int row, int shard, const std::string& text,
                 int top_k) {
  REQUIRE(found.status() == absl::OkStatus());
  const auto expected = Referee(rig.index, shard, text, top_k);
  const std::vector<Candidate>& got = found->candidates.at(row);
  REQUIRE(got.size() == expected.size());
  const std::vector<WordItem> items = rig.index.ItemsOf(shard);
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i].item_id == expected[i].first);
    CHECK(got[i].score == Approx(expected[i].second).margin(1e-5));
    CHECK(got[i].shard == shard);
    CHECK(items.at(got[i].row).item_id == got[i].item_id);
  }
}

TEST_CASE("requests for different numbers of hits share a scan and get their own") {
  Rig rig;
  auto first = rig.Start(rig.Request(0, {"first"}, 3), rig.Call());
  rig.entered.Wait();
  auto few = rig.Start(rig.Request(0, {"red fish"}, 1), rig.Call());
  auto many = rig.Start(rig.Request(0, {"blue bird", "green tree"}, 12), rig.Call());
  auto other = rig.Start(rig.Request(2, {"red boat"}, 5), rig.Call());
  AwaitUntil([&] { return rig.engine->stats().queued_tasks == 3; });
  rig.release.Open();
  CheckAnswer(rig, first->Get(), 0, 0, "first", 3);
  CheckAnswer(rig, few->Get(), 0, 0, "red fish", 1);
  const Found both = many->Get();
  CheckAnswer(rig, both, 0, 0, "blue bird", 12);
  CheckAnswer(rig, both, 1, 0, "green tree", 12);
  CheckAnswer(rig, other->Get(), 0, 2, "red boat", 5);
  CHECK(rig.batches == std::vector<int64_t>{1, 3});
}

TEST_CASE("a lone request waits for no company: it is searched while time stands still") {
  Rig rig;
  rig.release.Open();
  for (const char* text : {"red fish", "blue bird", "green tree"}) {
    CheckAnswer(rig, rig.Search(rig.Request(0, {text}, 5)), 0, 0, text, 5);
  }
  CHECK(rig.batches == std::vector<int64_t>{1, 1, 1});
}

TEST_CASE("a shard smaller than what is asked for gives all that it has") {
  Rig rig;
  rig.release.Open();
  CheckAnswer(rig, rig.Search(rig.Request(2, {"house"}, 1000)), 0, 2, "house", 1000);
}

TEST_CASE("an empty shard is searched like any other") {
  Rig rig(/*items=*/0);
  rig.release.Open();
  const Found found = rig.Search(rig.Request(0, {"fish", "bird"}, 5));
  REQUIRE(found.status() == absl::OkStatus());
  REQUIRE(found->candidates.size() == 2);
  CHECK(found->candidates[0].empty());
  const auto fetched = rig.Fetch(0, {"images/000"}, {});
  REQUIRE(fetched.ok());
  CHECK(!fetched->items.at(0).has_value());
}

TEST_CASE("a shard that another server holds is refused with the reason") {
  Rig rig;
  for (const int shard : {1, 3, -1}) {
    const absl::Status status = rig.Search(rig.Request(shard, {"fish"}, 5)).status();
    CHECK(absl::IsFailedPrecondition(status));
    CHECK(HasReason(status, reasons::kShardNotHeld));
    CHECK(absl::IsFailedPrecondition(rig.Fetch(shard, {"images/001"}, {}).status()));
  }
  SearchShardRequest request = rig.Request(0, {"fish"}, 5);
  request.target.generation = "g2";
  CHECK(HasReason(rig.Search(request).status(), reasons::kGenerationNotHeld));
}

TEST_CASE("a vector of another dimension says both") {
  Rig rig;
  SearchShardRequest request = rig.Request(0, {"fish"}, 5);
  request.queries = EmbeddingMatrix(1, 3);
  const absl::Status status = rig.Search(request).status();
  CHECK(absl::IsInvalidArgument(status));
  REQUIRE(HasReason(status, reasons::kEmbeddingDimensionMismatch));
  CHECK(GetReason(status)->metadata.at("expectedDimension") == "8");
  CHECK(GetReason(status)->metadata.at("actualDimension") == "3");
}

TEST_CASE("numbers that are none, too many queries and hits out of range are refused") {
  SearchEngineOptions options;
  options.max_queries = 2;
  Rig rig(60, options);
  rig.release.Open();  // what is let in must fail here, not wait
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    SearchShardRequest request = rig.Request(0, {"fish", "bird"}, 5);
    request.queries.mutable_row(1)[7] = bad;
    CHECK(absl::IsInvalidArgument(rig.Search(request).status()));
  }
  CHECK(GetFields(rig.Search(rig.Request(0, {"a", "b", "c"}, 5)).status()) ==
        std::vector<std::string>{"queries"});
  SearchShardRequest none = rig.Request(0, {"a"}, 5);
  none.queries = EmbeddingMatrix(0, FakeServingModel::kDimension);
  CHECK(absl::IsInvalidArgument(rig.Search(none).status()));
  for (const int top_k : {0, -1, limits::kMaxNeighbors + 1}) {
    CHECK(GetFields(rig.Search(rig.Request(0, {"a"}, top_k)).status()) ==
          std::vector<std::string>{"top_k"});
  }
  CHECK(rig.batches.empty());
}

TEST_CASE("a full queue refuses, and waiting ends with the call") {
  SearchEngineOptions options;
  options.batching.max_batch_cost = 2;
  options.batching.max_queue_cost = 2;
  Rig rig(60, options);
  auto first = rig.Start(rig.Request(0, {"first"}, 3), rig.Call());
  rig.entered.Wait();
  const CallContext call = rig.Call();
  auto waiting = rig.Start(rig.Request(0, {"a", "b"}, 3), call);
  AwaitUntil([&] { return rig.engine->stats().queued_tasks == 1; });
  CHECK(absl::IsResourceExhausted(rig.Search(rig.Request(0, {"c"}, 3)).status()));
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(waiting->Get().status()));
  rig.release.Open();
  CHECK(first->Get().ok());
  rig.engine->Drain();
  CHECK(absl::IsUnavailable(rig.Search(rig.Request(2, {"late"}, 3)).status()));
}

TEST_CASE("items are fetched by id in the order asked, and unknown ones are none") {
  Rig rig;
  const std::vector<WordItem> items = rig.index.ItemsOf(2);
  const auto fetched =
      rig.Fetch(2, {items[3].item_id, "images/nobody", items[0].item_id}, {}, true);
  REQUIRE(fetched.status() == absl::OkStatus());
  REQUIRE(fetched->items.size() == 3);
  CHECK(!fetched->items[1].has_value());
  const StoredItem& item = *fetched->items[0];
  CHECK(item.item_id == items[3].item_id);
  CHECK(item.caption == items[3].words);
  CHECK(item.uri == "file:///" + items[3].item_id);
  CHECK(item.tags == std::vector<std::string>{"word"});
  CHECK(item.shard == 2);
  CHECK(item.row == 3);
  CHECK(item.embedding == EmbeddingOf(IdsOf(items[3].words)));
  CHECK(fetched->items[2]->row == 0);
}

TEST_CASE("a search answers what is stored of its neighbors, if that is wanted and there is time") {
  Rig rig;
  const std::vector<WordItem> items = rig.index.ItemsOf(2);
  SearchShardRequest request = rig.Request(2, {"early", "late"}, 3);
  CHECK(rig.Search(request)->items.empty());
  request.want_items = true;
  const auto found = rig.Search(request);
  REQUIRE(found.status() == absl::OkStatus());
  REQUIRE(found->items.size() == 2);
  for (size_t query = 0; query < 2; ++query) {
    const std::vector<Candidate>& candidates = found->candidates[query];
    REQUIRE(found->items[query].size() == candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
      const StoredItem& item = found->items[query][i];
      CHECK(item.item_id == candidates[i].item_id);
      CHECK(item.row == candidates[i].row);
      CHECK(item.shard == 2);
      CHECK(item.caption == items.at(item.row).words);
      CHECK(item.tags == std::vector<std::string>{"word"});
      CHECK(item.embedding.empty());
    }
  }
  request.budget = absl::Nanoseconds(-1);
  const auto late = rig.Search(request);
  REQUIRE(late.status() == absl::OkStatus());
  CHECK(late->items.empty());
  CHECK(late->candidates[0].size() == found->candidates[0].size());
  request = rig.Request(2, {"early", "late"}, 501);
  request.want_items = true;
  CHECK(GetFields(rig.Search(request).status()) == std::vector<std::string>{"include_items"});
}

TEST_CASE("items are fetched by row, and embeddings only if wanted") {
  Rig rig;
  const std::vector<WordItem> items = rig.index.ItemsOf(0);
  const auto fetched = rig.Fetch(0, {}, {1, 0});
  REQUIRE(fetched.status() == absl::OkStatus());
  CHECK(fetched->items.at(0)->item_id == items[1].item_id);
  CHECK(fetched->items.at(1)->item_id == items[0].item_id);
  CHECK(fetched->items.at(0)->embedding.empty());
  for (const int64_t row : {int64_t{-1}, static_cast<int64_t>(items.size())}) {
    CHECK(GetFields(rig.Fetch(0, {}, {0, row}).status()) == std::vector<std::string>{"rows"});
  }
}

TEST_CASE("a fetch names ids or rows, and no more than allowed") {
  Rig rig;
  CHECK(absl::IsInvalidArgument(rig.Fetch(0, {}, {}).status()));
  CHECK(absl::IsInvalidArgument(rig.Fetch(0, {"images/001"}, {0}).status()));
  const std::vector<int64_t> most(limits::kMaxFetchedItems, 0);
  CHECK(rig.Fetch(0, {}, most).ok());
  std::vector<int64_t> more = most;
  more.push_back(0);
  CHECK(absl::IsInvalidArgument(rig.Fetch(0, {}, more).status()));
}

}  // namespace
}  // namespace sightline
