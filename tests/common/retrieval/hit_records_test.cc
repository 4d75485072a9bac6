// What is stored of hits: had with the rows, fetched, or missing.
#include "common/retrieval/hit_records.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/retrieval/retriever.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("records that cannot be fetched are missing from hits that stand") {
  World world;
  SECTION("a shard fails") {
    world.pictures.shard(0).fetch().FailWith(absl::UnavailableError("down"));
  }
  SECTION("a shard is late") {
    world.pictures.shard(0).fetch().Ignore();
    world.pictures.shard(2).fetch().BeforeEach([&] { world.clock.Advance(absl::Seconds(1)); });
  }
  SearchRequest request = TextSearch("a fish");
  request.top_k = 40;
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->degraded == std::vector<DegradedReason>{DegradedReason::kRecordsMissing});
  CHECK(Ids(result->hits) == Referee(world.pictures, "a fish", 40, 20, Combination{}));
  for (const Hit& hit : result->hits) CHECK(hit.caption.empty() == (hit.shard == 0));
}

TEST_CASE("records that come with the search are not fetched, nor are those of too many rows") {
  World world;
  for (int shard = 0; shard < 3; ++shard) {
    world.pictures.shard(shard).fetch().FailWith(absl::UnavailableError("down"));
  }
  world.pictures.shard(0).AnswerItems();
  world.pictures.shard(2).AnswerItems();
  SearchRequest request = TextSearch("a fish");
  request.depth = 0;
  const auto check = [&world](const SearchRequest& asked, int shard_without) {
    const auto result = world.retriever.Search(asked, world.Call());
    REQUIRE(result.ok());
    CHECK(Ids(result->hits) ==
          Referee(world.pictures, "a fish", asked.top_k, *asked.depth, Combination{}));
    CHECK(Has(*result, DegradedReason::kRecordsMissing) == (shard_without >= 0));
    for (const Hit& hit : result->hits) CHECK(hit.caption.empty() == (hit.shard == shard_without));
  };
  SECTION("a shard that answers none, as one of an earlier release, is asked for its own") {
    request.top_k = 40;
    check(request, 1);
    CHECK(world.pictures.shard(0).fetch().calls() == 0);
    CHECK(world.pictures.shard(1).fetch().calls() == 1);
  }
  SECTION("if all of them do, none is asked") {
    world.pictures.shard(1).AnswerItems();
    request.top_k = 40;
    check(request, -1);
  }
  SECTION("nothing is wanted where it is not, or where reranking chooses among many") {
    request.want_records = false;
    REQUIRE(world.retriever.Search(request, world.Call()).ok());
    request.want_records = true;
    request.depth = 20;
    REQUIRE(world.retriever.Search(request, world.Call()).ok());
    for (const auto& search : world.pictures.shard(0).searches()) CHECK_FALSE(search.want_items);
  }
  SECTION("nor from 129 rows on") {
    request.top_k = 43;
    REQUIRE(world.retriever.Search(request, world.Call()).ok());
    for (const auto& search : world.pictures.shard(0).searches()) CHECK_FALSE(search.want_items);
  }
}

// A shard whose rows are those of other items than it found.
class ShiftedShard : public IndexSearchClient {
 public:
  explicit ShiftedShard(FakeShard* shard) : shard_(shard) {}
  void SearchShard(const CallContext& call, SearchShardRequest request,
                   Done<SearchShardResponse> done) override {
    shard_->SearchShard(call, std::move(request), std::move(done));
  }
  void FetchItems(const CallContext& call, FetchItemsRequest request,
                  Done<FetchItemsResponse> done) override {
    for (int64_t& row : request.rows) row = (row + 1) % shard_->items().size();
    shard_->FetchItems(call, std::move(request), std::move(done));
  }

 private:
  FakeShard* const shard_;
};

TEST_CASE("another item's record is no record") {
  World world;
  world.backends.shards["pictures"][1] = std::make_shared<ShiftedShard>(&world.pictures.shard(1));
  SearchRequest request = TextSearch("a fish");
  request.top_k = 40;
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->degraded == std::vector<DegradedReason>{DegradedReason::kRecordsMissing});
  for (const Hit& hit : result->hits) CHECK(hit.caption.empty() == (hit.shard == 1));
}

}  // namespace
}  // namespace sightline
