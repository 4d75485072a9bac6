// Searches whose answers are kept.
#include "common/retrieval/search_caches.h"

#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kRoom = 1 << 20;

WorldOptions Caching(int64_t embeddings = kRoom, int64_t scores = kRoom, int64_t results = kRoom) {
  WorldOptions options;
  options.caches = {embeddings, scores, results};
  return options;
}

SearchResult Ask(World& world, const SearchRequest& request) {
  auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.status() == absl::OkStatus());
  return *std::move(result);
}

// Calls to all backends so far.
int Calls(World& world) {
  int calls = world.encoder->behaviour().calls() + world.reranker->behaviour().calls();
  for (FakeIndex* index : {&world.pictures, &world.words}) {
    for (int shard = 0; shard < index->info()->shard_count; ++shard) {
      calls += index->shard(shard).search().calls() + index->shard(shard).fetch().calls();
    }
  }
  return calls;
}

void CheckSame(const SearchResult& a, const SearchResult& b) {
  CHECK(a.target == b.target);
  CHECK(a.rerank == b.rerank);
  CHECK(a.requested_depth == b.requested_depth);
  CHECK(a.achieved_depth == b.achieved_depth);
  CHECK(a.reranker == b.reranker);
  CHECK(a.shard_count == b.shard_count);
  CHECK(a.answered_shard_count == b.answered_shard_count);
  CHECK(a.next_page_token == b.next_page_token);
  REQUIRE(a.hits.size() == b.hits.size());
  for (size_t i = 0; i < a.hits.size(); ++i) {
    CHECK(a.hits[i].item_id == b.hits[i].item_id);
    CHECK(a.hits[i].score == b.hits[i].score);
    CHECK(a.hits[i].rerank_score == b.hits[i].rerank_score);
    CHECK(a.hits[i].caption == b.hits[i].caption);
    CHECK(a.hits[i].tags == b.hits[i].tags);
  }
}

std::vector<SearchRequest> AllKinds() {
  std::vector<SearchRequest> requests(6);
  requests[0] = TextSearch("a fish");
  requests[1].query = ImageQuery{"image of a fish"};
  ImageInput image;
  image.regions = {1, 1, {1}, {}};
  image.tags = {"image of regions"};
  requests[2].query = RegionsQuery{image};
  requests[3].query = EmbeddingQuery{EmbeddingOf("x"), kSpace};
  requests[3].index = "pictures";
  requests[4].query = ItemQuery{"words", "caption-1"};
  requests[5].query = ItemQuery{"", "image-1"};
  requests[5].index = "pictures";
  return requests;
}

TEST_CASE("a repeated question asks nobody, and has the same answer") {
  World world(Caching());
  for (const SearchRequest& request : AllKinds()) {
    CAPTURE(request.query.index());
    const SearchResult first = Ask(world, request);
    CHECK(!first.from_cache);
    const int calls = Calls(world);
    const SearchResult second = Ask(world, request);
    CHECK(second.from_cache);
    CHECK(Calls(world) == calls);
    CheckSame(first, second);
  }
}

TEST_CASE("what is kept is given though nobody is there any more") {
  World world(Caching());
  const SearchResult first = Ask(world, TextSearch("a fish"));
  world.encoder->behaviour().FailWith(absl::UnavailableError("down"));
  CheckSame(first, Ask(world, TextSearch("a fish")));
  CHECK(!world.retriever.Search(TextSearch("a bird"), world.Call()).ok());
}

TEST_CASE("the times of an answer that was kept are its own") {
  World world(Caching());
  world.encoder->behaviour().BeforeEach([&] { world.clock.Advance(absl::Milliseconds(100)); });
  CHECK(Ask(world, TextSearch("a fish")).times.encode == absl::Milliseconds(100));
  const StageTimes times = Ask(world, TextSearch("a fish")).times;
  CHECK(times.encode == absl::ZeroDuration());
  CHECK(times.total == absl::ZeroDuration());
}

// Candidates that the reranker has been sent so far.
size_t Sent(const World& world) {
  size_t sent = 0;
  for (const RerankRequest& request : world.reranker->requests()) sent += request.candidates.size();
  return sent;
}

TEST_CASE("of another question about the same words only what is new is computed") {
  World world(Caching());
  SearchRequest request = TextSearch("a fish");
  Ask(world, request);
  CHECK(Sent(world) == 20);
  request.top_k = 7;
  const SearchResult fewer = Ask(world, request);
  CHECK(!fewer.from_cache);
  CHECK(Ids(fewer.hits) == Referee(world.pictures, "a fish", 7, 20, Combination{}));
  CHECK(Sent(world) == 20);
  request.depth = 30;
  CHECK(Ids(Ask(world, request).hits) == Referee(world.pictures, "a fish", 7, 30, Combination{}));
  CHECK(Sent(world) == 30);
  request.depth = 10;
  const SearchResult shallow = Ask(world, request);
  CHECK(Ids(shallow.hits) == Referee(world.pictures, "a fish", 7, 10, Combination{}));
  CHECK(shallow.achieved_depth == 10);
  CHECK(Sent(world) == 30);
  CHECK(world.encoder->behaviour().calls() == 1);
  // By another cross-encoder all is new.
  request.reranker = kOtherReranker;
  Ask(world, request);
  CHECK(Sent(world) == 40);
  CHECK(world.encoder->behaviour().calls() == 2);
}

TEST_CASE("a later page scores nothing that an earlier one has scored") {
  World world(Caching());
  SearchRequest request = TextSearch("a fish");
  const SearchResult first = Ask(world, request);
  request.page_token = first.next_page_token;
  const SearchResult second = Ask(world, request);
  CHECK(second.achieved_depth == 20);
  CHECK(Sent(world) == 20);
  std::vector<std::string> ids = Ids(first.hits);
  for (const Hit& hit : second.hits) ids.push_back(hit.item_id);
  CHECK(ids == Referee(world.pictures, "a fish", 20, 20, Combination{}));
}

TEST_CASE("an answer for which there was no time goes on where it stopped, and is then kept") {
  World world(Caching());
  world.reranker->behaviour().BeforeEach([&] { world.clock.Advance(absl::Milliseconds(100)); });
  Ask(world, TextSearch("a bird"));  // a hundred a second
  world.reranker->behaviour().BeforeEach([] {});
  const auto hurried = [&] {
    auto result = world.retriever.Search(TextSearch("a fish"), world.Call(absl::Milliseconds(200)));
    REQUIRE(result.ok());
    return *std::move(result);
  };
  const SearchResult first = hurried();
  CHECK(first.achieved_depth == 16);
  CHECK(!first.degraded.empty());
  const size_t sent = Sent(world);
  // Its pages are those of a list of 16, whatever is known by then.
  const SearchResult second = hurried();
  CHECK(Sent(world) == sent + 4);
  CHECK(second.achieved_depth == 20);
  CHECK(second.degraded.empty());
  CHECK(Ids(second.hits) == Referee(world.pictures, "a fish", 10, 20, Combination{}));
  SearchRequest next = TextSearch("a fish");
  next.page_token = first.next_page_token;
  std::vector<std::string> ids = Ids(first.hits);
  for (const Hit& hit : Ask(world, next).hits) ids.push_back(hit.item_id);
  CHECK(ids == Referee(world.pictures, "a fish", 20, 16, Combination{}));
  CHECK(hurried().from_cache);
}

TEST_CASE("what is known is given though the reranker is gone, as far as it goes") {
  World world(Caching(0, kRoom, 0));
  Ask(world, TextSearch("a fish"));
  world.reranker->behaviour().FailWith(absl::UnavailableError("down"));
  SearchRequest request = TextSearch("a fish");
  CHECK(Ask(world, request).rerank == RerankOutcome::kComplete);
  request.depth = 30;
  request.top_k = 40;
  const SearchResult deeper = Ask(world, request);
  CHECK(deeper.rerank == RerankOutcome::kPartial);
  CHECK(deeper.achieved_depth == 20);
  CHECK(Ids(deeper.hits) == Referee(world.pictures, "a fish", 40, 20, Combination{}));
}

TEST_CASE("each cache does without the others, and none is there without memory") {
  const bool embeddings = GENERATE(false, true), scores = GENERATE(false, true),
             results = GENERATE(false, true);
  World world(Caching(embeddings ? kRoom : 0, scores ? kRoom : 0, results ? kRoom : 0));
  const SearchResult first = Ask(world, TextSearch("a fish"));
  const SearchResult second = Ask(world, TextSearch("a fish"));
  CheckSame(first, second);
  CHECK(second.from_cache == results);
  CHECK(world.encoder->behaviour().calls() == (embeddings || results ? 1 : 2));
  CHECK(Sent(world) == (scores || results ? 20 : 40));
}

TEST_CASE("a degraded answer is never kept") {
  World world(Caching(kRoom, /*scores=*/0, kRoom));
  std::function<void()> mend;
  SECTION("a shard is missing") {
    FakeBehaviour& search = world.pictures.shard(1).search();
    search.FailWith(absl::UnavailableError("down"));
    mend = [&search] { search.AnswerNow(); };
  }
  SECTION("the reranker fails") {
    world.reranker->behaviour().FailWith(absl::UnavailableError("down"));
    mend = [&world] { world.reranker->behaviour().AnswerNow(); };
  }
  SECTION("a slice fails") {
    world.reranker->behaviour().Follow([](int call) {
      return FakeAnswer{FakeAnswer::When::kNow,
                        call % 2 == 0 ? absl::DataLossError("corrupt") : absl::OkStatus()};
    });
    mend = [&world] { world.reranker->behaviour().AnswerNow(); };
  }
  SECTION("there is no time for all of it") {
    world.reranker->behaviour().BeforeEach([&] { world.clock.Advance(absl::Milliseconds(951)); });
    mend = [&world] {
      world.reranker->behaviour().BeforeEach([] {});
      world.clock.Advance(absl::Minutes(1));  // nobody remembers how slow it was
    };
  }
  SECTION("records are missing") {
    FakeBehaviour& fetch = world.pictures.shard(0).fetch();
    fetch.FailWith(absl::UnavailableError("down"));
    mend = [&fetch] { fetch.AnswerNow(); };
  }
  SearchRequest request = TextSearch("a fish");
  request.top_k = 40;
  const SearchResult degraded = Ask(world, request);
  CHECK(!degraded.degraded.empty());
  CHECK(!degraded.failures.empty() == !Has(degraded, DegradedReason::kDepthReduced));
  const SearchResult again = Ask(world, request);
  CHECK(!again.from_cache);
  mend();
  const SearchResult whole = Ask(world, request);
  CHECK(!whole.from_cache);
  CHECK(whole.degraded.empty());
  CHECK(Ask(world, request).from_cache);
}

TEST_CASE("an error is not kept either") {
  World world(Caching());
  world.encoder->behaviour().FailWith(absl::UnavailableError("down"));
  CHECK(absl::IsUnavailable(world.retriever.Search(TextSearch("a fish"), world.Call()).status()));
  world.encoder->behaviour().AnswerNow();
  CHECK(!Ask(world, TextSearch("a fish")).from_cache);
}

TEST_CASE("pages are kept each by itself") {
  World world(Caching());
  SearchRequest request = TextSearch("a fish");
  request.page_token = Ask(world, request).next_page_token;
  const SearchResult second = Ask(world, request);
  CHECK(!second.from_cache);
  CHECK(world.encoder->behaviour().calls() == 1);
  const SearchResult again = Ask(world, request);
  CHECK(again.from_cache);
  CheckSame(second, again);
}

TEST_CASE("equal questions under way are answered together") {
  World world(Caching());
  world.encoder->behaviour().Hold();
  const auto ask = [&](const std::string& text) {
    return std::async(std::launch::async, [&world, text] {
      return world.retriever.Search(TextSearch(text), world.Call());
    });
  };
  auto first = ask("a fish");
  world.encoder->behaviour().AwaitCalls(1);
  std::vector<std::future<absl::StatusOr<SearchResult>>> others;
  for (int i = 0; i < 3; ++i) others.push_back(ask("a fish"));
  world.clock.AwaitSleepers(4);
  world.encoder->behaviour().Release();
  const auto answer = first.get();
  REQUIRE(answer.ok());
  CHECK(!answer->from_cache);
  for (auto& other : others) {
    const auto shared = other.get();
    REQUIRE(shared.ok());
    CHECK(shared->from_cache);
    CheckSame(*answer, *shared);
  }
  CHECK(world.encoder->behaviour().calls() == 1);
  const CacheStatus told = world.caches.results.Describe();
  CHECK(told.misses == 1);
  CHECK(told.shared == 3);
  CHECK(told.hits == 0);
}

TEST_CASE("less than was asked is passed on to who had no more time for it, and to no others") {
  World world(Caching());
  world.reranker->behaviour().Ignore();
  const auto ask = [&](absl::Duration allowed) {
    return std::async(std::launch::async, [&world, allowed] {
      return world.retriever.Search(TextSearch("a fish"), world.Call(allowed));
    });
  };
  auto first = ask(absl::Seconds(1));
  world.reranker->behaviour().AwaitCalls(2);
  auto hurried = ask(absl::Seconds(1));
  auto patient = ask(absl::Seconds(5));
  world.clock.AwaitSleepers(3);
  world.reranker->behaviour().AnswerNow();
  world.clock.Advance(absl::Milliseconds(950));
  CHECK(Has(*first.get(), DegradedReason::kRerankerLate));
  const auto late = hurried.get();
  REQUIRE(late.ok());
  CHECK(Has(*late, DegradedReason::kRerankerLate));
  CHECK(late->from_cache);
  CHECK(late->failures.empty());  // the first one's log has them
  const auto whole = patient.get();
  REQUIRE(whole.ok());
  CHECK(whole->degraded.empty());
  CHECK(!whole->from_cache);
}

TEST_CASE("an answer that is only less deep suits who has about as much time") {
  World world(Caching());
  world.reranker->behaviour().BeforeEach([&] { world.clock.Advance(absl::Milliseconds(100)); });
  Ask(world, TextSearch("a bird"));  // a hundred candidates a second
  world.reranker->behaviour().BeforeEach([] {});
  world.encoder->behaviour().Hold();
  const auto ask = [&](absl::Duration allowed) {
    return std::async(std::launch::async, [&world, allowed] {
      return world.retriever.Search(TextSearch("a fish"), world.Call(allowed));
    });
  };
  const int before = world.encoder->behaviour().calls();
  auto first = ask(absl::Milliseconds(200));
  world.encoder->behaviour().AwaitCalls(before + 1);
  auto alike = ask(absl::Milliseconds(350)), patient = ask(absl::Seconds(2));
  world.clock.AwaitSleepers(3);
  world.encoder->behaviour().AnswerNow();
  world.encoder->behaviour().Release();
  const auto cut = first.get(), shared = alike.get(), whole = patient.get();
  REQUIRE((cut.ok() && shared.ok() && whole.ok()));
  CHECK(cut->degraded == std::vector<DegradedReason>{DegradedReason::kDepthReduced});
  CHECK(shared->achieved_depth == cut->achieved_depth);
  CHECK(shared->from_cache);
  CHECK(whole->achieved_depth == 20);
  CHECK(!whole->from_cache);
}

TEST_CASE("who gives up waiting has found nothing and computed nothing") {
  World world(Caching());
  world.encoder->behaviour().Hold();
  auto first = std::async(std::launch::async, [&] {
    return world.retriever.Search(TextSearch("a fish"), world.Call());
  });
  world.encoder->behaviour().AwaitCalls(1);
  const CallContext call = world.Call();
  auto second = std::async(std::launch::async,
                           [&] { return world.retriever.Search(TextSearch("a fish"), call); });
  world.clock.AwaitSleepers(2);
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(second.get().status()));
  world.encoder->behaviour().Release();
  CHECK(first.get().ok());
  const CacheStatus told = world.caches.results.Describe();
  CHECK(told.misses == 1);
  CHECK(told.shared == 0);
  CHECK(world.metrics.Render().find(
            "sightline_cache_lookups_total{cache=\"results\",outcome=\"gave_up\"} 1") !=
        std::string::npos);
}

TEST_CASE("the caches tell what they are good for") {
  World world(Caching());
  for (int i = 0; i < 3; ++i) Ask(world, TextSearch("a fish"));
  SearchRequest request = TextSearch("a fish");
  request.top_k = 3;
  Ask(world, request);
  const std::vector<CacheStatus> told = world.caches.Describe();
  REQUIRE(told.size() == 3);
  CHECK(told[0].name == "embeddings");
  CHECK(told[0].hits == 1);
  CHECK(told[0].misses == 1);
  CHECK(told[0].entries == 1);
  CHECK(told[1].name == "scores");  // by candidates
  CHECK(told[1].hits == 20);
  CHECK(told[1].misses == 20);
  CHECK(told[1].entries == 1);
  CHECK(told[2].name == "results");
  CHECK(told[2].hits == 2);
  CHECK(told[2].misses == 2);
  CHECK(told[2].entries == 2);
  for (const CacheStatus& cache : told) {
    CHECK(cache.bytes > 0);
    CHECK(cache.bytes <= cache.max_bytes);
  }
  const std::string page = world.metrics.Render();
  CHECK(page.find("sightline_cache_lookups_total{cache=\"results\",outcome=\"hit\"} 2") !=
        std::string::npos);
}

TEST_CASE("they hold no more than they may, and what had to go is answered as before") {
  constexpr int64_t kLittle = 30'000;
  World world(Caching(kLittle, kLittle, kLittle));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 40; ++i) {
      const std::string text = absl::StrCat("fish ", i);
      const SearchResult result = Ask(world, TextSearch(text));
      CHECK(!result.from_cache);  // each goes before it comes again
      CHECK(Ids(result.hits) == Referee(world.pictures, text, 10, 20, Combination{}));
      for (const CacheStatus& cache : world.caches.Describe()) CHECK(cache.bytes <= kLittle);
    }
  }
  CHECK(world.caches.results.Describe().entries > 2);
}

}  // namespace
}  // namespace sightline
