// Searches of an index that finds other items the more of them it is asked for.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/retrieval/page_token.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr char kQuery[] = "a red fish";

SearchResult Ask(World& world, const SearchRequest& request) {
  auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.status() == absl::OkStatus());
  return *std::move(result);
}

// A number of each item that has nothing to do with its score.
int NumberOf(const StoredItem& item) {
  return std::stoi(item.item_id.substr(item.item_id.find('-') + 1));
}

// A third of the items is seen only by searches that ask for more than 15, 22 and so on; and if
// `forgets`, others only by those that ask for no more than 25.
FakeShard::Approximation SeesMoreDeeper(bool forgets) {
  return {[forgets](const StoredItem& item, const SearchShardRequest& request) {
            const int number = NumberOf(item);
            if (forgets && number % 5 == 1 && request.top_k > 25) return false;
            return number % 3 != 0 || request.top_k > 15 + 7 * (number % 4);
          },
          [](const SearchShardRequest&) {
            return SearchEffort{false, 0.66f, 12, false};
          }};
}

struct Pages {
  std::vector<Hit> hits;
  std::vector<size_t> sizes;
};

Pages AllPages(World& world, SearchRequest request) {
  Pages all;
  do {
    const SearchResult page = Ask(world, request);
    CHECK(page.degraded.empty());
    CHECK(page.effort.effort == 12);
    CHECK_FALSE(page.effort.exact);
    all.hits.insert(all.hits.end(), page.hits.begin(), page.hits.end());
    all.sizes.push_back(page.hits.size());
    request.page_token = page.next_page_token;
  } while (!request.page_token.empty());
  return all;
}

TEST_CASE("hits of all pages come each once, in one order, and pages are full") {
  const int top_k = GENERATE(1, 3, 7, 10, 15, 20);
  const int depth = GENERATE(0, 5, 20);
  const bool forgets = GENERATE(false, true);
  const bool filtered = GENERATE(false, true);
  CAPTURE(top_k, depth, forgets, filtered);
  WorldOptions options;
  options.images = 120;
  options.tags = [](int item) {
    return std::vector<std::string>{item % 7 == 0 ? "seventh" : "other"};
  };
  World world(options);
  world.pictures.Approximate(SeesMoreDeeper(forgets));
  SearchRequest request = TextSearch(kQuery);
  request.top_k = top_k;
  request.depth = depth;
  if (filtered) request.filter.none = {"seventh"};
  const Pages all = AllPages(world, request);
  std::set<std::string> ids;
  for (size_t i = 0; i < all.hits.size(); ++i) {
    ids.insert(all.hits[i].item_id);
    CHECK((all.hits[i].stage == HitStage::kReranked) == (static_cast<int>(i) < depth));
    if (i > 0) CHECK(StandsBefore(all.hits[i - 1], all.hits[i]));
  }
  CHECK(ids.size() == all.hits.size());
  // Of what every search can see, nothing is missing but what stands before the page that it would
  // have come with: less than a third.
  CHECK(all.hits.size() > (filtered ? 50 : 60));
  for (size_t i = 0; i + 1 < all.sizes.size(); ++i) {
    CHECK(all.sizes[i] == static_cast<size_t>(top_k));
  }
}

// That the test before asks for something.
TEST_CASE("deeper searches of this index find other items at the front") {
  WorldOptions options;
  options.images = 120;
  World world(options);
  world.pictures.Approximate(SeesMoreDeeper(false));
  SearchRequest request = TextSearch(kQuery);
  request.depth = 0;
  const std::vector<std::string> few = Ids(Ask(world, request).hits);
  request.top_k = 40;
  std::vector<std::string> many = Ids(Ask(world, request).hits);
  many.resize(few.size());
  CHECK(few != many);
}

TEST_CASE("pages of the reranked block are cut from one retrieval") {
  WorldOptions options;
  options.images = 120;
  World world(options);
  world.pictures.Approximate(SeesMoreDeeper(false));
  SearchRequest request = TextSearch(kQuery);
  request.top_k = 15;
  request.depth = 20;
  const SearchResult first = Ask(world, request);
  request.page_token = first.next_page_token;
  const SearchResult second = Ask(world, request);
  for (const SearchShardRequest& asked : world.pictures.shard(0).searches()) {
    CHECK(asked.top_k == 30);
  }
  CHECK_FALSE(ParsePageToken(first.next_page_token)->behind.has_value());
  CHECK(ParsePageToken(second.next_page_token)->behind.has_value());
}

TEST_CASE("an item that is left out is not missed on later pages") {
  WorldOptions options;
  options.images = 60;
  World world(options);
  world.pictures.Approximate(SeesMoreDeeper(true));
  SearchRequest request;
  request.index = "pictures";
  request.query = ItemQuery{"", "image-1"};
  request.top_k = 4;
  std::set<std::string> ids;
  const Pages all = AllPages(world, request);
  for (const Hit& hit : all.hits) ids.insert(hit.item_id);
  CHECK(ids.size() == all.hits.size());
  CHECK(ids.count("image-1") == 0);
  CHECK(all.hits.size() > 20);
}

// As where few rows pass a filter: a search that asks for more turns to the rows themselves, and
// finds what the earlier pages' had missed.
TEST_CASE("hits come each once, in one order, though a page among them is searched exactly") {
  const int top_k = GENERATE(4, 7, 12);
  const int exact_from = GENERATE(1, 10, 20, 35);
  const bool then_not = GENERATE(false, true);
  CAPTURE(top_k, exact_from, then_not);
  WorldOptions options;
  options.images = 120;
  World world(options);
  const auto is_exact = [=](const SearchShardRequest& request) {
    return request.top_k >= exact_from && !(then_not && request.top_k >= exact_from + 12);
  };
  world.pictures.Approximate(
      {[is_exact](const StoredItem& item, const SearchShardRequest& request) {
         return is_exact(request) || NumberOf(item) % 3 != 0;
       },
       [is_exact](const SearchShardRequest& request) {
         return is_exact(request) ? SearchEffort{true, 1, 0, false}
                                  : SearchEffort{false, 0.66f, 12, false};
       }});
  SearchRequest request = TextSearch(kQuery);
  request.top_k = top_k;
  request.depth = 0;
  request.filter.any = {"tag"};
  std::vector<Hit> hits;
  std::set<std::string> ids;
  do {
    const SearchResult page = Ask(world, request);
    hits.insert(hits.end(), page.hits.begin(), page.hits.end());
    request.page_token = page.next_page_token;
  } while (!request.page_token.empty());
  for (size_t i = 0; i < hits.size(); ++i) {
    ids.insert(hits[i].item_id);
    if (i > 0) CHECK(StandsBefore(hits[i - 1], hits[i]));
  }
  CHECK(ids.size() == hits.size());
  CHECK(hits.size() >= 80);
}

TEST_CASE("an index that is searched exactly has the tokens that it always had") {
  World world;
  SearchRequest request = TextSearch(kQuery);
  request.depth = 0;
  request.page_token = Ask(world, request).next_page_token;
  CHECK_FALSE(ParsePageToken(request.page_token)->behind.has_value());
}

// What the first shard says of itself.
void Say(World& world, SearchEffort effort) {
  world.pictures.shard(0).Approximate(
      {nullptr, [effort](const SearchShardRequest&) { return effort; }});
}

TEST_CASE("an answer has the effort of the shard that looked least hard") {
  World world;
  world.pictures.shard(1).Approximate({nullptr, [](const SearchShardRequest&) {
                                         return SearchEffort{false, 0.9f, 30, false};
                                       }});
  Say(world, {false, 0.8f, 50, false});
  SearchResult found = Ask(world, TextSearch(kQuery));
  CHECK_FALSE(found.effort.exact);
  CHECK(found.effort.recall == 0.8f);
  CHECK(found.effort.effort == 50);
  CHECK(found.degraded.empty());
  // Of one that does not answer nothing is told.
  world.pictures.shard(0).search().FailWith(absl::UnavailableError("down"));
  CHECK(Ask(world, TextSearch(kQuery)).effort.recall == 0.9f);
}

TEST_CASE("less effort than was asked is degraded, and such an answer is not kept") {
  WorldOptions options;
  options.caches = {1 << 20, 1 << 20, 1 << 20};
  World world(options);
  Say(world, {false, 0.8f, 50, true});
  for (int i = 0; i < 2; ++i) {
    const SearchResult found = Ask(world, TextSearch(kQuery));
    CHECK(Has(found, DegradedReason::kRecallReduced));
    CHECK(found.effort.reduced);
    CHECK_FALSE(found.from_cache);
    REQUIRE(found.failures.size() == 1);  // for the log
    CHECK_THAT(std::string(found.failures[0].message()),
               Catch::Contains("effort 50 (recall 0.8), asked was the recall of its generation"));
  }
  Say(world, {false, 0.9f, 90, false});
  CHECK_FALSE(Ask(world, TextSearch(kQuery)).from_cache);
  const SearchResult kept = Ask(world, TextSearch(kQuery));
  CHECK(kept.from_cache);
  CHECK(kept.effort.effort == 90);
  CHECK(kept.matched_item_count == 40);
}

TEST_CASE("shards are told of their time only where their effort may be lowered") {
  const bool lower_effort = GENERATE(false, true);
  WorldOptions options;
  options.retriever.lower_effort = lower_effort;
  World world(options);
  SearchRequest request = TextSearch(kQuery);
  request.effort.effort = 70;
  Ask(world, request);
  const std::vector<SearchShardRequest> asked = world.pictures.shard(0).searches();
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].effort.effort == 70);
  CHECK((asked[0].budget < absl::Seconds(1)) == lower_effort);
  CHECK((asked[0].budget == absl::InfiniteDuration()) == !lower_effort);
}

}  // namespace
}  // namespace sightline
