// Shards that are asked for fewer rows than are wanted, and again where they have more.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/bundle/layout.h"
#include "common/retrieval/search_shards.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/fake_backends.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

// Passes calls on and counts the rows that come back.
class Counted : public IndexSearchClient {
 public:
  Counted(FakeShard* shard, int64_t* rows) : shard_(*shard), rows_(*rows) {}

  void SearchShard(const CallContext& call, SearchShardRequest request,
                   Done<SearchShardResponse> done) override {
    const auto counting = [this, done = std::move(done)](auto answer) {
      if (answer.ok()) rows_ += static_cast<int64_t>(answer->candidates.front().size());
      done(std::move(answer));
    };
    shard_.SearchShard(call, std::move(request), counting);
  }
  void FetchItems(const CallContext& call, FetchItemsRequest request,
                  Done<FetchItemsResponse> done) override {
    shard_.FetchItems(call, std::move(request), std::move(done));
  }

 private:
  FakeShard& shard_;
  int64_t& rows_;
};

// An index of one number an item, by which it is scored.
struct Fleet {
  // One item `of` so many is tagged "rare"; if that is not each, `best` has these alone.
  Fleet(int shard_count, const std::vector<std::pair<std::string, float>>& items, int of = 1) {
    GenerationInfo info;
    info.ref = {"pictures", "1", "space"};
    info.shard_count = shard_count;
    info.dimension = 1;
    std::vector<StoredItem> stored;
    for (const auto& [id, score] : items) {
      stored.emplace_back();
      stored.back().item_id = id;
      stored.back().embedding = {score};
      if (stored.size() % of != 0) continue;
      stored.back().tags = {"rare"};
      best.push_back({id, ShardOf(id, shard_count), 0, score});
    }
    std::sort(best.begin(), best.end(), RanksBefore);
    index = std::make_unique<FakeIndex>(std::move(info), std::move(stored));
    for (int shard = 0; shard < shard_count; ++shard) {
      clients.push_back(std::make_shared<Counted>(&index->shard(shard), &rows));
    }
    pinned = {index->info(), &clients};
  }

  absl::StatusOr<ShardAnswers> Search(int top_k, TagFilter filter = {}) {
    EmbeddingMatrix query(1, 1);
    query.mutable_data()[0] = 1;
    const absl::Time now = clock.Now();
    return SearchShards(pinned, {query, top_k, std::move(filter)}, now + absl::Seconds(1),
                        now + absl::Seconds(2), CallContext(&clock, absl::InfiniteFuture()));
  }

  // Whether `found` are the best of all, in order.
  bool AreBest(const std::vector<Candidate>& found, int top_k) const {
    const size_t wanted = std::min<size_t>(top_k, best.size());
    return found.size() == wanted && std::equal(found.begin(), found.end(), best.begin(),
                                                [](const Candidate& a, const Candidate& b) {
                                                  return a.item_id == b.item_id &&
                                                         a.shard == b.shard && a.score == b.score;
                                                });
  }

  int calls(int shard) const { return index->shard(shard).search().calls(); }
  int calls() const {
    int sum = 0;
    for (size_t shard = 0; shard < clients.size(); ++shard) sum += calls(static_cast<int>(shard));
    return sum;
  }

  FakeClock clock;
  int64_t rows = 0;  // that shards have answered
  std::vector<Candidate> best;
  std::unique_ptr<FakeIndex> index;
  std::vector<std::shared_ptr<IndexSearchClient>> clients;
  PinnedIndex pinned;
};

std::vector<std::pair<std::string, float>> RandomItems(int count, int distinct_scores) {
  std::mt19937 random(count);
  std::vector<std::pair<std::string, float>> items;
  for (int i = 0; i < count; ++i) {
    items.emplace_back("item-" + std::to_string(i), static_cast<float>(random() % distinct_scores));
  }
  return items;
}

// The best `count` all lie in shard 0, which has more.
std::vector<std::pair<std::string, float>> ItemsOfOneShard(int shard_count, int count) {
  std::vector<std::pair<std::string, float>> items;
  int of_shard_0 = 0;
  for (int i = 0; of_shard_0 < 2 * count; ++i) {
    const std::string id = "item-" + std::to_string(i);
    const bool in_0 = ShardOf(id, shard_count) == 0;
    of_shard_0 += in_0;
    items.emplace_back(id, static_cast<float>(in_0 ? 1'000'000 - i : -i));
  }
  return items;
}

TEST_CASE("few shards are asked for all that is wanted, many for their part and a little more") {
  CHECK(RowsToAskFor(1000, 1) == 1000);
  CHECK(RowsToAskFor(20, 2) == 20);
  CHECK(RowsToAskFor(1, 700) == 1);
  CHECK(RowsToAskFor(1000, 3) == 1000);
  CHECK(RowsToAskFor(1000, 100) < 40);
  CHECK(RowsToAskFor(1000, 100) > 20);
  for (const int shards : {1, 2, 5, 30, 700}) {
    for (int top_k = 1; top_k <= 1000; ++top_k) {
      const int rows = RowsToAskFor(top_k, shards);
      CHECK(rows <= top_k);
      CHECK(int64_t{rows} * shards >= top_k);
    }
  }
}

TEST_CASE("hardly a search asks a shard again") {
  std::mt19937 random(7);
  for (const auto& [top_k, shards] :
       std::vector<std::pair<int, int>>{{20, 8}, {100, 8}, {1000, 100}}) {
    const int rows = RowsToAskFor(top_k, shards);
    int again = 0;
    constexpr int kSearches = 20'000;
    for (int search = 0; search < kSearches; ++search) {
      std::vector<int> held(shards);
      for (int i = 0; i < top_k; ++i) ++held[random() % shards];
      again += *std::max_element(held.begin(), held.end()) >= rows;
    }
    CAPTURE(top_k, shards, rows, again);
    CHECK(again <= kSearches / 1000);
  }
}

TEST_CASE("the answer is that of asking each shard for all, ties and ends included") {
  const int shards = GENERATE(1, 2, 7, 40);
  for (const auto& [count, distinct] :
       std::vector<std::pair<int, int>>{{0, 1}, {1, 1}, {30, 1}, {2000, 3}, {2000, 1'000'000}}) {
    Fleet fleet(shards, RandomItems(count, distinct));
    for (const int top_k : {1, 10, 100, 1000}) {
      CAPTURE(shards, count, distinct, top_k);
      const auto found = fleet.Search(top_k);
      REQUIRE(found.ok());
      CHECK(found->answered == shards);
      CHECK(fleet.AreBest(found->best, top_k));
    }
  }
}

TEST_CASE("a hundred shards do not send a hundred times what is wanted") {
  Fleet fleet(100, RandomItems(20'000, 1'000'000));
  const auto found = fleet.Search(1000);
  REQUIRE(found.ok());
  CHECK(fleet.AreBest(found->best, 1000));
  CHECK(fleet.calls() == 100);
  CHECK(fleet.rows < 4000);
}

TEST_CASE("a shard that holds more of the best than its part is asked again, and it alone") {
  constexpr int kShards = 20, kWanted = 200;
  Fleet fleet(kShards, ItemsOfOneShard(kShards, kWanted));
  const auto found = fleet.Search(kWanted);
  REQUIRE(found.ok());
  CHECK(found->answered == kShards);
  CHECK(fleet.AreBest(found->best, kWanted));
  CHECK(fleet.calls(0) == 2);
  CHECK(fleet.calls() == kShards + 1);
}

TEST_CASE("of a shard that is asked again in vain, what it gave is used, and it is named") {
  constexpr int kShards = 20, kWanted = 200;
  Fleet fleet(kShards, ItemsOfOneShard(kShards, kWanted));
  fleet.index->shard(0).search().Follow([](int call) {
    return call == 0 ? FakeAnswer{}
                     : FakeAnswer{FakeAnswer::When::kNow, absl::UnavailableError("gone")};
  });
  const auto found = fleet.Search(kWanted);
  REQUIRE(found.ok());
  CHECK(found->answered == kShards - 1);
  CHECK(found->unreachable == std::vector<std::string>{"indexes/pictures/shards/0"});
  CHECK(found->failures.size() == 1);
  REQUIRE(found->best.size() == kWanted);
  CHECK(found->best.front().item_id == fleet.best.front().item_id);
}

TEST_CASE("while a shard is silent none is asked again, and those that answered count") {
  constexpr int kShards = 20, kWanted = 200;
  Fleet fleet(kShards, ItemsOfOneShard(kShards, kWanted));
  fleet.index->shard(3).search().Ignore();
  Background<absl::StatusOr<ShardAnswers>> search([&] { return fleet.Search(kWanted); });
  fleet.index->shard(kShards - 1).search().AwaitCalls(1);
  fleet.clock.Advance(absl::Seconds(1));
  const auto found = search.Get();
  REQUIRE(found.ok());
  CHECK(found->answered == kShards - 1);
  CHECK(found->unreachable == std::vector<std::string>{"indexes/pictures/shards/3"});
  CHECK(fleet.calls() == kShards);
}

TEST_CASE("a shard that is asked again and stays silent is named, and the others are not") {
  constexpr int kShards = 20, kWanted = 200;
  Fleet fleet(kShards, ItemsOfOneShard(kShards, kWanted));
  fleet.index->shard(0).search().Follow([](int call) {
    return FakeAnswer{call == 0 ? FakeAnswer::When::kNow : FakeAnswer::When::kOnCancel, {}};
  });
  Background<absl::StatusOr<ShardAnswers>> search([&] { return fleet.Search(kWanted); });
  fleet.index->shard(0).search().AwaitCalls(2);
  fleet.clock.Advance(absl::Seconds(1));
  const auto found = search.Get();
  REQUIRE(found.ok());
  CHECK(found->unreachable == std::vector<std::string>{"indexes/pictures/shards/0"});
  CHECK(found->best.size() == kWanted);
}

// Asked for more than `few`, a shard finds the rows with even numbers in place of odd ones, and the
// best row never.
FakeShard::Approximation OtherRowsBeyond(int few) {
  return {[few](const StoredItem& item, const SearchShardRequest& request) {
            return item.embedding[0] < 1'000'000 && item.row % 2 == (request.top_k > few);
          },
          [](const SearchShardRequest&) {
            return SearchEffort{false, 0.5f, 7, false};
          }};
}

TEST_CASE("a shard that finds other rows when it is asked again loses none, and doubles none") {
  constexpr int kShards = 20, kWanted = 200;
  Fleet fleet(kShards, ItemsOfOneShard(kShards, 2 * kWanted));
  const int first = RowsToAskFor(kWanted, kShards);
  fleet.index->Approximate(OtherRowsBeyond(first));
  const auto found = fleet.Search(kWanted);
  REQUIRE(found.ok());
  CHECK(fleet.calls(0) == 2);
  REQUIRE(found->best.size() == kWanted);
  CHECK(std::is_sorted(found->best.begin(), found->best.end(), RanksBefore));
  std::set<std::string> ids;
  int of_the_first = 0;
  for (const Candidate& candidate : found->best) {
    CHECK(candidate.shard == 0);
    ids.insert(candidate.item_id);
    of_the_first += candidate.row % 2 == 0;
  }
  CHECK(ids.size() == kWanted);
  CHECK(of_the_first == first);
  CHECK(found->effort.recall == 0.5f);
}

TEST_CASE("a filter leaves shards with fewer than they were asked for, and none is missing") {
  const int shards = GENERATE(1, 7, 40);
  for (const int of : {1, 3, 100, 10'000}) {
    Fleet fleet(shards, RandomItems(2000, 50), of);
    const TagFilter filter = {{"rare"}, {}, {}};
    for (const int top_k : {1, 10, 100, 1000}) {
      CAPTURE(shards, of, top_k);
      const auto found = fleet.Search(top_k, filter);
      REQUIRE(found.ok());
      CHECK(fleet.AreBest(found->best, top_k));
      CHECK(found->matched == static_cast<int64_t>(fleet.best.size()));
      CHECK(found->effort.exact);
    }
  }
}

}  // namespace
}  // namespace sightline
