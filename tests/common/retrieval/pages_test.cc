// Searches that go on where the last answer ended.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/error_details.h"
#include "common/retrieval/page_token.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/catch.h"
#include "tests/support/replicate.h"

namespace sightline {
namespace {

// The request with `page_token` set to what the last answer said.
SearchRequest Next(SearchRequest request, const SearchResult& last) {
  request.page_token = last.next_page_token;
  return request;
}

// All pages of a request.
std::vector<SearchResult> AllPages(World* world, SearchRequest request) {
  std::vector<SearchResult> pages;
  do {
    if (!pages.empty()) request = Next(std::move(request), pages.back());
    auto page = world->retriever.Search(request, world->Call());
    REQUIRE(page.status() == absl::OkStatus());
    CHECK(page->degraded.empty());
    pages.push_back(*std::move(page));
  } while (!pages.back().next_page_token.empty());
  return pages;
}

std::vector<std::string> IdsOf(const std::vector<SearchResult>& pages) {
  std::vector<std::string> all;
  for (const SearchResult& page : pages) {
    for (const Hit& hit : page.hits) all.push_back(hit.item_id);
  }
  return all;
}

TEST_CASE("all pages together are the one long answer") {
  const int top_k = GENERATE(1, 7, 10, 20, 39, 40, 41);
  const int depth = GENERATE(0, 5, 20, 40);
  CAPTURE(top_k, depth);
  World world;
  SearchRequest request = TextSearch("a red fish");
  request.top_k = top_k;
  request.depth = depth;
  const std::vector<SearchResult> pages = AllPages(&world, request);
  CHECK(IdsOf(pages) == Referee(world.pictures, "a red fish", 40, depth, Combination{}));
  CHECK(static_cast<int>(pages.size()) == (40 + top_k - 1) / top_k);
}

TEST_CASE("only pages that reach into the reranked block are reranked") {
  World world;
  SearchRequest request = TextSearch("a red fish");
  request.top_k = 15;
  request.depth = 20;
  const std::vector<SearchResult> pages = AllPages(&world, request);
  REQUIRE(pages.size() == 3);
  CHECK(pages[0].rerank == RerankOutcome::kComplete);
  CHECK(pages[1].rerank == RerankOutcome::kComplete);
  CHECK(pages[1].achieved_depth == 20);
  CHECK(pages[1].hits[4].stage == HitStage::kReranked);
  CHECK(pages[1].hits[5].stage == HitStage::kRetrieved);
  CHECK(pages[2].rerank == RerankOutcome::kNotApplicable);
  CHECK(pages[2].requested_depth == 20);
  CHECK(world.reranker->requests().size() == 4);  // two pages, two slices each
  CHECK(!pages[2].hits[0].caption.empty());
}

TEST_CASE("pages that by default are not reranked are those of depth 0, not of the default") {
  World world;
  GenerationInfo info = *world.pictures.info();
  info.rerankers[0].declared.by_default = false;
  world.catalog.Set(std::make_shared<GenerationInfo>(info));
  SearchRequest request = TextSearch("a red fish");
  request.top_k = 15;
  const std::vector<SearchResult> pages = AllPages(&world, request);
  REQUIRE(pages.size() == 3);
  for (const SearchResult& page : pages) CHECK(page.rerank == RerankOutcome::kNotByDefault);
  CHECK(IdsOf(pages) == Referee(world.pictures, "a red fish", 40, 0, Combination{}));

  // The same depth, asked for: another list, to which the token does not belong.
  const auto refused = [&world](SearchRequest other, const SearchResult& last) {
    return HasReason(world.retriever.Search(Next(std::move(other), last), world.Call()).status(),
                     reasons::kPageTokenMismatch);
  };
  SearchRequest asking = request;
  asking.depth = 20;
  CHECK(refused(asking, pages[0]));
  const auto reranked = world.retriever.Search(asking, world.Call());
  REQUIRE(reranked.ok());
  CHECK(refused(request, *reranked));
}

// A first page for which there was time to rerank 16 of 20.
SearchResult CutPage(World& world, const SearchRequest& request) {
  world.reranker->behaviour().BeforeEach([&] { world.clock.Advance(absl::Milliseconds(100)); });
  REQUIRE(world.retriever.Search(TextSearch("another fish"), world.Call()).ok());
  world.reranker->behaviour().BeforeEach([] {});  // fast, but nobody knows it yet
  auto page = world.retriever.Search(request, world.Call(absl::Milliseconds(200)));
  REQUIRE(page.ok());
  CHECK(page->achieved_depth == 16);
  return *std::move(page);
}

TEST_CASE("later pages rerank as many as the first one did") {
  World world;
  SearchRequest request = TextSearch("a red fish");
  request.top_k = GENERATE(7, 8, 10);
  std::vector<SearchResult> pages = {CutPage(world, request)};
  while (!pages.back().next_page_token.empty()) {
    const size_t begin = request.top_k * pages.size();
    CAPTURE(begin);
    auto page = world.retriever.Search(Next(request, pages.back()), world.Call());
    REQUIRE(page.ok());
    CHECK(page->requested_depth == 20);
    CHECK(page->achieved_depth == (begin < 16 ? 16 : 0));
    CHECK(page->rerank == (begin < 16 ? RerankOutcome::kPartial : RerankOutcome::kNotApplicable));
    // What would have been reranked and was not is less than was asked.
    CHECK(Has(*page, DegradedReason::kDepthReduced) == (begin < 20));
    pages.push_back(*std::move(page));
  }
  CHECK(IdsOf(pages) == Referee(world.pictures, "a red fish", 40, 16, Combination{}));
}

TEST_CASE("a list that began without reranking goes on without") {
  World world;
  world.reranker->behaviour().FailWith(absl::UnavailableError("down"));
  SearchRequest request = TextSearch("a red fish");
  auto first = world.retriever.Search(request, world.Call());
  REQUIRE(first.ok());
  world.reranker->behaviour().AnswerNow();
  const auto second = world.retriever.Search(Next(request, *first), world.Call());
  REQUIRE(second.ok());
  CHECK(Has(*second, DegradedReason::kDepthReduced));
  CHECK(IdsOf({*first, *second}) == Referee(world.pictures, "a red fish", 20, 0, Combination{}));
}

TEST_CASE("a later page that is late does not change the list") {
  World world;
  SearchRequest request = TextSearch("a red fish");
  request.top_k = 6;
  const SearchResult first = CutPage(world, request);
  world.reranker->behaviour().FailWith(absl::UnavailableError("down"));
  const auto second = world.retriever.Search(Next(request, first), world.Call());
  REQUIRE(second.ok());
  CHECK(second->rerank == RerankOutcome::kFailed);
  world.reranker->behaviour().AnswerNow();
  const auto third = world.retriever.Search(Next(request, *second), world.Call());
  REQUIRE(third.ok());
  CHECK(third->achieved_depth == 16);
}

TEST_CASE("an item never meets itself on any page") {
  World world;
  SearchRequest request;
  request.index = "pictures";
  request.query = ItemQuery{"", "image-3"};
  request.top_k = 13;
  const std::vector<std::string> ids = IdsOf(AllPages(&world, request));
  CHECK(ids.size() == 39);
  CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == 39);
  CHECK(std::count(ids.begin(), ids.end(), "image-3") == 0);
}

TEST_CASE("no page reaches beyond the thousandth hit") {
  WorldOptions options;
  options.images = 1100;
  World world(options);
  SearchRequest request = TextSearch("a red fish");
  request.top_k = 400;
  request.depth = 0;
  const std::vector<SearchResult> pages = AllPages(&world, request);
  REQUIRE(pages.size() == 3);
  CHECK(pages[2].hits.size() == 200);
  CHECK(IdsOf(pages) == Referee(world.pictures, "a red fish", 1000, 0, Combination{}));
}

// A world in which "pictures" has been published anew, with other items in other places,
// and each shard has a replica with either generation.
struct SwappedWorld : World {
  SwappedWorld() : newer(NewInfo(*pictures.info()), NewItems()) {
    for (int shard = 0; shard < 3; ++shard) {
      backends.shards["pictures"][shard] = Replicate<IndexSearchClient>(
          ReplicatedIndexSearch, {pictures.clients()[shard], newer.clients()[shard]});
    }
  }

  static GenerationInfo NewInfo(GenerationInfo info) {
    info.ref.generation = "generation-8";
    return info;
  }
  static std::vector<StoredItem> NewItems() {
    std::vector<StoredItem> items;
    for (int i = 0; i < 35; ++i) {
      StoredItem item;
      item.item_id = "image-new-" + std::to_string(i);
      item.embedding = EmbeddingOf(item.item_id);
      items.push_back(std::move(item));
    }
    return items;
  }

  FakeIndex newer;
};

TEST_CASE("pages go on in their generation when requests have moved to another") {
  SwappedWorld world;
  SearchRequest request = TextSearch("a red fish");
  request.depth = 0;
  const auto first = world.retriever.Search(request, world.Call());
  REQUIRE(first.ok());
  world.catalog.Set(world.newer.info());

  const auto second = world.retriever.Search(Next(request, *first), world.Call());
  REQUIRE(second.ok());
  CHECK(second->target.generation == "generation-7");
  CHECK(IdsOf({*first, *second}) == Referee(world.pictures, "a red fish", 20, 0, Combination{}));
  const auto fresh = world.retriever.Search(request, world.Call());
  REQUIRE(fresh.ok());
  CHECK(fresh->target.generation == "generation-8");
  CHECK(Ids(fresh->hits) == Referee(world.newer, "a red fish", 10, 0, Combination{}));
}

TEST_CASE("an item of another index is looked up where it was on the first page") {
  SwappedWorld world;
  SearchRequest request;
  request.index = "words";
  request.query = ItemQuery{"pictures", "image-3"};
  request.depth = 0;
  const auto first = world.retriever.Search(request, world.Call());
  REQUIRE(first.ok());
  world.catalog.Set(world.newer.info());  // which has no such item
  const auto second = world.retriever.Search(Next(request, *first), world.Call());
  REQUIRE(second.status() == absl::OkStatus());
  CHECK(IdsOf({*first, *second}) == Referee(world.words, "image-3", 20, 0, Combination{}));
}

TEST_CASE("a token of a generation that is gone says so") {
  SwappedWorld world;
  const SearchRequest request = TextSearch("a red fish");
  const auto first = world.retriever.Search(request, world.Call());
  REQUIRE(first.ok());
  world.catalog.Set(world.newer.info());
  world.catalog.Forget(world.pictures.info()->ref);
  const absl::Status gone = world.retriever.Search(Next(request, *first), world.Call()).status();
  CHECK(absl::IsFailedPrecondition(gone));
  REQUIRE(HasReason(gone, reasons::kPageTokenExpired));
  CHECK(GetReason(gone)->metadata.at("generation") == "generation-7");
}

TEST_CASE("a token of another request is refused before anybody works") {
  World world;
  const SearchRequest request = TextSearch("a red fish");
  const auto first = world.retriever.Search(request, world.Call());
  REQUIRE(first.ok());
  const int encoded = world.encoder->behaviour().calls();
  const std::map<std::string, void (*)(SearchRequest*)> changes = {
      {"query", [](SearchRequest* r) { r->query = TextQuery{"a blue fish"}; }},
      {"index", [](SearchRequest* r) { r->index = "pictures"; }},
      {"top_k", [](SearchRequest* r) { r->top_k = 11; }},
      {"depth", [](SearchRequest* r) { r->depth = 19; }},
      {"combination", [](SearchRequest* r) { r->combination = Combination{}; }},
  };
  for (const auto& [what, change] : changes) {
    CAPTURE(what);
    SearchRequest other = Next(request, *first);
    change(&other);
    const absl::Status status = world.retriever.Search(other, world.Call()).status();
    CHECK(absl::IsInvalidArgument(status));
    CHECK(HasReason(status, reasons::kPageTokenMismatch));
    CHECK(GetFields(status) == std::vector<std::string>{"page_token"});
  }
  SearchRequest nonsense = request;
  nonsense.page_token = "page 2";
  CHECK(absl::IsInvalidArgument(world.retriever.Search(nonsense, world.Call()).status()));
  CHECK(world.encoder->behaviour().calls() == encoded);

  // The default depth by another name, and other records, are the same request.
  SearchRequest same = Next(request, *first);
  same.depth = 20;
  same.want_records = false;
  CHECK(world.retriever.Search(same, world.Call()).ok());
}

TEST_CASE("a page behind what can be found is empty and the last") {
  World world;
  SearchRequest request = TextSearch("a red fish");
  request.depth = 0;
  const auto first = world.retriever.Search(request, world.Call());
  REQUIRE(first.ok());
  for (int shard = 0; shard < 2; ++shard) {
    world.pictures.shard(shard).search().FailWith(absl::UnavailableError("down"));
  }
  SearchRequest next = Next(request, *first);
  int pages = 0;
  while (true) {
    const auto page = world.retriever.Search(next, world.Call());
    REQUIRE(page.ok());
    CHECK(Has(*page, DegradedReason::kShardsMissing));
    if (page->next_page_token.empty()) break;
    next = Next(request, *page);
    REQUIRE(++pages < 5);
  }
}

}  // namespace
}  // namespace sightline
