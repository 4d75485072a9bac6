// Searches among the items that have certain tags.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// Of 40 pictures every second is even, every third is tagged with 3, and number 20 is alone.
WorldOptions Tagged() {
  WorldOptions options;
  options.tags = [](int item) {
    std::vector<std::string> tags = {item % 2 == 0 ? "even" : "odd"};
    if (item % 3 == 0) tags.push_back("3");
    if (item == 20) tags.push_back("alone");
    return tags;
  };
  return options;
}

SearchResult Ask(World& world, const SearchRequest& request) {
  auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.status() == absl::OkStatus());
  return *std::move(result);
}

std::vector<TagFilter> Filters() {
  return {{{"even"}, {}, {}},
          {{"3", "alone"}, {}, {}},
          {{}, {"even", "3"}, {}},
          {{}, {}, {"even"}},
          {{"even", "3"}, {"odd"}, {"alone"}},
          {{"alone"}, {}, {}}};
}

// How many of 40.
const int kPassing[] = {20, 15, 7, 20, 7, 1};

TEST_CASE("hits, pages and what is reranked are of the items that pass") {
  World world(Tagged());
  for (size_t i = 0; i < Filters().size(); ++i) {
    for (const int top_k : {1, 5, 7, 10, 20, 40}) {
      for (const int depth : {0, 5, 20}) {
        CAPTURE(i, top_k, depth);
        SearchRequest request = TextSearch("a red fish");
        request.filter = Filters()[i];
        request.top_k = top_k;
        request.depth = depth;
        std::vector<std::string> ids;
        int pages = 0;
        do {
          const SearchResult page = Ask(world, request);
          CHECK(page.matched_item_count == kPassing[i]);
          CHECK(page.effort.exact);
          CHECK(page.degraded.empty());
          if (pages == 0) CHECK(page.achieved_depth == std::min(depth, kPassing[i]));
          for (const std::string& id : Ids(page.hits)) ids.push_back(id);
          request.page_token = page.next_page_token;
          ++pages;
        } while (!request.page_token.empty());
        CHECK(ids == Referee(world.pictures, "a red fish", 40, depth, {}, request.filter));
        CHECK(pages == (kPassing[i] + top_k - 1) / top_k);
      }
    }
  }
}

TEST_CASE("where nothing passes the answer has no hits, and is whole") {
  World world(Tagged());
  SearchRequest request = TextSearch("a red fish");
  request.filter.all = {"even", "odd"};
  const SearchResult found = Ask(world, request);
  CHECK(found.hits.empty());
  CHECK(found.matched_item_count == 0);
  CHECK(found.answered_shard_count == 3);
  CHECK(found.degraded.empty());
  CHECK(found.next_page_token.empty());
  CHECK(found.rerank == RerankOutcome::kComplete);
  CHECK(found.achieved_depth == 0);
}

TEST_CASE("a stored item is left out of its own hits, whether it passes or not") {
  World world(Tagged());
  for (const char* const item : {"image-20", "image-21"}) {
    for (const int top_k : {1, 4, 5, 19, 20}) {
      CAPTURE(item, top_k);
      SearchRequest request;
      request.index = "pictures";
      request.query = ItemQuery{"", item};
      request.top_k = top_k;
      request.filter = {{"even"}, {}, {}};
      std::vector<std::string> ids;
      do {
        const SearchResult page = Ask(world, request);
        CHECK(page.matched_item_count == 20);
        CHECK_FALSE(page.hits.empty());
        for (const std::string& id : Ids(page.hits)) ids.push_back(id);
        request.page_token = page.next_page_token;
      } while (!request.page_token.empty());
      std::vector<std::string> expected;
      for (const Candidate& one : RankAll(world.pictures, item, item, request.filter)) {
        expected.push_back(one.item_id);
      }
      CHECK(ids == expected);
    }
  }
}

TEST_CASE("what a silent shard would have matched is not counted") {
  World world(Tagged());
  world.pictures.shard(1).search().FailWith(absl::UnavailableError("down"));
  SearchRequest request = TextSearch("a red fish");
  request.filter.any = {"even"};
  const SearchResult found = Ask(world, request);
  int64_t even = 0;
  for (const int shard : {0, 2}) {
    for (const StoredItem& item : world.pictures.shard(shard).items()) {
      even += Passes(request.filter, item.tags);
    }
  }
  CHECK(found.matched_item_count == even);
  CHECK(Has(found, DegradedReason::kShardsMissing));
}

TEST_CASE("a page token belongs to the filter and the effort that it was answered to") {
  World world(Tagged());
  SearchRequest request = TextSearch("a red fish");
  request.filter.any = {"even"};
  request.effort.recall = 0.9f;
  request.page_token = Ask(world, request).next_page_token;
  REQUIRE_FALSE(request.page_token.empty());
  CHECK(Ask(world, request).hits.size() == 10);
  SearchRequest filtered = request, wished = request;
  filtered.filter.any = {"odd"};
  wished.effort.recall = 0.95f;
  for (const SearchRequest& other : {filtered, wished}) {
    const absl::Status refused = world.retriever.Search(other, world.Call()).status();
    CHECK(HasReason(refused, reasons::kPageTokenMismatch));
  }
}

TEST_CASE("answers to other filters and efforts are others") {
  WorldOptions options = Tagged();
  options.caches = {1 << 20, 1 << 20, 1 << 20};
  World world(options);
  SearchRequest request = TextSearch("a red fish");
  CHECK_FALSE(Ask(world, request).from_cache);
  request.filter.any = {"even"};
  const SearchResult even = Ask(world, request);
  CHECK_FALSE(even.from_cache);
  CHECK(Ids(even.hits) ==
        Referee(world.pictures, "a red fish", 10, 20, Combination{}, request.filter));
  const SearchResult again = Ask(world, request);
  CHECK(again.from_cache);
  CHECK(Ids(again.hits) == Ids(even.hits));
  CHECK(again.matched_item_count == 20);
  request.effort.recall = 0.5f;
  CHECK_FALSE(Ask(world, request).from_cache);
}

}  // namespace
}  // namespace sightline
