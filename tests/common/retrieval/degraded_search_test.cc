// What a search answers when backends are down, late or wrong.
#include <future>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "common/base/error_details.h"
#include "common/retrieval/retriever.h"
#include "tests/common/retrieval/world.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

bool Says(const absl::Status& status, const std::string& part) {
  return std::string(status.message()).find(part) != std::string::npos;
}

// The ranking of the items of all shards but one.
std::vector<std::string> WithoutShard(const FakeIndex& index, const std::string& query, int shard,
                                      int top_k) {
  std::vector<std::string> ids;
  for (const Candidate& candidate : RankAll(index, query)) {
    if (candidate.shard != shard && ids.size() < static_cast<size_t>(top_k)) {
      ids.push_back(candidate.item_id);
    }
  }
  return ids;
}

SearchRequest Unreranked(std::string text) {
  SearchRequest request = TextSearch(std::move(text));
  request.depth = 0;
  return request;
}

// --- shards ---

TEST_CASE("a shard that fails is missing and named, and the others answer") {
  for (const absl::StatusCode code :
       {absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded,
        absl::StatusCode::kFailedPrecondition, absl::StatusCode::kDataLoss,
        absl::StatusCode::kResourceExhausted, absl::StatusCode::kInternal}) {
    World world;
    world.pictures.shard(1).search().FailWith(absl::Status(code, "broken"));
    const auto result = world.retriever.Search(Unreranked("a fish"), world.Call());
    REQUIRE(result.ok());
    CHECK(Ids(result->hits) == WithoutShard(world.pictures, "a fish", 1, 10));
    CHECK(result->shard_count == 3);
    CHECK(result->answered_shard_count == 2);
    CHECK(result->unreachable == std::vector<std::string>{"indexes/pictures/shards/1"});
    CHECK(result->degraded == std::vector<DegradedReason>{DegradedReason::kShardsMissing});
    REQUIRE(result->failures.size() == 1);
    CHECK(Says(result->failures[0], "indexes/pictures/shards/1: broken"));
  }
}

TEST_CASE("a shard that is late is missing, and its call is cancelled") {
  World world;
  world.pictures.shard(2).search().Ignore();
  world.pictures.shard(2).search().BeforeEach(
      [&] { world.clock.Advance(absl::Milliseconds(600)); });
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(result->answered_shard_count == 2);
  CHECK(Has(*result, DegradedReason::kShardsMissing));
  CHECK(result->rerank == RerankOutcome::kComplete);  // its share was kept
  CHECK(world.pictures.shard(2).search().cancelled() == 1);
}

TEST_CASE("when no shard answers, the error says what they had in common") {
  using absl::StatusCode;
  const struct {
    StatusCode shards[3];
    StatusCode expected;
  } kCases[] = {
      {{StatusCode::kUnavailable, StatusCode::kUnavailable, StatusCode::kUnavailable},
       StatusCode::kUnavailable},
      {{StatusCode::kDeadlineExceeded, StatusCode::kDeadlineExceeded,
        StatusCode::kDeadlineExceeded},
       StatusCode::kDeadlineExceeded},
      {{StatusCode::kResourceExhausted, StatusCode::kResourceExhausted,
        StatusCode::kResourceExhausted},
       StatusCode::kResourceExhausted},
      {{StatusCode::kFailedPrecondition, StatusCode::kFailedPrecondition,
        StatusCode::kFailedPrecondition},
       StatusCode::kFailedPrecondition},
      {{StatusCode::kDataLoss, StatusCode::kDataLoss, StatusCode::kDataLoss},
       StatusCode::kUnavailable},
      {{StatusCode::kUnavailable, StatusCode::kResourceExhausted, StatusCode::kDeadlineExceeded},
       StatusCode::kUnavailable},
  };
  for (const auto& test : kCases) {
    World world;
    for (int shard = 0; shard < 3; ++shard) {
      world.pictures.shard(shard).search().FailWith(
          WithRetryDelay(absl::Status(test.shards[shard], "no"), absl::Seconds(3)));
    }
    const auto result = world.retriever.Search(Unreranked("a fish"), world.Call());
    CHECK(result.status().code() == test.expected);
    CHECK(GetRetryDelay(result.status()) == absl::Seconds(3));
  }
}

TEST_CASE("a shard's INVALID_ARGUMENT is the request's") {
  World world;
  world.pictures.shard(1).search().FailWith(absl::InvalidArgumentError("top_k is odd"));
  const auto result = world.retriever.Search(Unreranked("a fish"), world.Call());
  CHECK(absl::IsInvalidArgument(result.status()));
  CHECK(Says(result.status(), "top_k is odd"));
}

TEST_CASE("when no shard answers in its share, the first that does is taken") {
  World world;
  for (int shard = 0; shard < 3; ++shard) world.pictures.shard(shard).search().Hold();
  auto result = std::async(std::launch::async, [&] {
    return world.retriever.Search(TextSearch("a fish"), world.Call());
  });
  world.pictures.shard(2).search().AwaitCalls(1);
  world.clock.AwaitSleepers(1);
  world.clock.Advance(absl::Milliseconds(800));  // past search's share, within rerank's
  world.clock.AwaitSleepers(1);
  world.pictures.shard(0).search().Release();
  const auto answer = result.get();
  REQUIRE(answer.ok());
  CHECK(answer->answered_shard_count == 1);
  CHECK(answer->unreachable.size() == 2);
  CHECK(answer->rerank == RerankOutcome::kComplete);
  world.pictures.shard(1).search().Release();  // late: nobody minds
  world.pictures.shard(2).search().Release();
}

// A shard whose answers break the contract.
class OddShard : public IndexSearchClient {
 public:
  explicit OddShard(SearchShardResponse response) : response_(std::move(response)) {}
  void SearchShard(const CallContext&, SearchShardRequest,
                   Done<SearchShardResponse> done) override {
    done(response_);
  }
  void FetchItems(const CallContext&, FetchItemsRequest, Done<FetchItemsResponse> done) override {
    done(FetchItemsResponse());
  }

 private:
  const SearchShardResponse response_;
};

TEST_CASE("a shard that answers nonsense is missing") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<std::vector<Candidate>>> kAnswers = {
      {},                                        // no list
      {{}, {}},                                  // one too many
      {{{"x", 0, 0, nan}}},                      // not a score
      {{{"x", 0, 0, 1.0f}, {"y", 0, 1, 2.0f}}},  // worst first
  };
  for (const auto& candidates : kAnswers) {
    World world;
    world.backends.shards["pictures"][1] =
        std::make_shared<OddShard>(SearchShardResponse{candidates});
    const auto result = world.retriever.Search(Unreranked("a fish"), world.Call());
    REQUIRE(result.ok());
    CHECK(Ids(result->hits) == WithoutShard(world.pictures, "a fish", 1, 10));
    CHECK(result->unreachable.size() == 1);
  }
}

TEST_CASE("a candidate belongs to the shard that sent it, whatever it says") {
  World world;
  world.backends.shards["pictures"][1] =
      std::make_shared<OddShard>(SearchShardResponse{{{{"x", 1000, 0, 100.0f}}}});
  const auto result = world.retriever.Search(Unreranked("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(result->hits.front().shard == 1);
  CHECK(Has(*result, DegradedReason::kRecordsMissing));  // it has no record of it either
}

// --- encoder ---

TEST_CASE("a dead encoder fails what needs it, and nothing else") {
  World world;
  SECTION("down") {
    world.encoder->behaviour().FailWith(absl::UnavailableError("connection refused"));
  }
  SECTION("not configured") {
    world.backends.encoder = nullptr;
  }
  const auto text = world.retriever.Search(TextSearch("a fish"), world.Call());
  CHECK(absl::IsUnavailable(text.status()));
  CHECK(Says(text.status(), "query encoder"));
  SearchRequest request;
  request.query = ImageQuery{"image"};
  CHECK(absl::IsUnavailable(world.retriever.Search(request, world.Call()).status()));
  request.index = "pictures";
  request.query = EmbeddingQuery{EmbeddingOf("x"), kSpace};
  CHECK(world.retriever.Search(request, world.Call()).ok());
  request.query = ItemQuery{"words", "caption-1"};
  CHECK(world.retriever.Search(request, world.Call()).ok());
}

TEST_CASE("the encoder's errors are passed on with their details") {
  World world;
  world.encoder->behaviour().FailWith(
      WithRetryDelay(absl::ResourceExhaustedError("queue full"), absl::Milliseconds(20)));
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  CHECK(absl::IsResourceExhausted(result.status()));
  CHECK(GetRetryDelay(result.status()) == absl::Milliseconds(20));
}

TEST_CASE("an encoder may use up what reranking would have had") {
  World world;
  world.encoder->behaviour().Hold();
  auto result = std::async(std::launch::async, [&] {
    return world.retriever.Search(TextSearch("a fish"), world.Call());
  });
  world.encoder->behaviour().AwaitCalls(1);
  world.clock.AwaitSleepers(1);
  // Its share with reranking ends at 332 ms, without at 554 ms.
  world.clock.Advance(absl::Milliseconds(500));
  world.clock.AwaitSleepers(1);  // it waits still
  world.encoder->behaviour().Release();
  const auto answer = result.get();
  REQUIRE(answer.ok());
  CHECK(answer->answered_shard_count == 3);
  CHECK(answer->rerank == RerankOutcome::kComplete);
}

TEST_CASE("what a slow encoder leaves is split anew") {
  World world;
  world.encoder->behaviour().BeforeEach([&] { world.clock.Advance(absl::Milliseconds(500)); });
  world.pictures.shard(2).search().Hold();
  auto result = std::async(std::launch::async, [&] {
    return world.retriever.Search(TextSearch("a fish"), world.Call());
  });
  world.pictures.shard(2).search().AwaitCalls(1);
  world.clock.AwaitSleepers(1);
  // By the first split the search would end at 570 ms, by the second it does at 673 ms.
  world.clock.Advance(absl::Milliseconds(150));
  world.clock.AwaitSleepers(1);  // it waits still
  world.pictures.shard(2).search().Release();
  const auto answer = result.get();
  REQUIRE(answer.ok());
  CHECK(answer->answered_shard_count == 3);
}

TEST_CASE("an encoder that does not answer is DEADLINE_EXCEEDED in time to say so") {
  World world;
  world.encoder->behaviour().Ignore();
  world.encoder->behaviour().BeforeEach([&] { world.clock.Advance(absl::Milliseconds(560)); });
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  CHECK(absl::IsDeadlineExceeded(result.status()));
  CHECK(world.encoder->behaviour().cancelled() == 1);
}

TEST_CASE("an embedding of another length or not finite is the encoder's fault") {
  for (const std::vector<float>& embedding :
       {std::vector<float>(3), std::vector<float>(kDimension, NAN)}) {
    World world;
    world.backends.encoder =
        std::make_shared<FakeEncoder>([&](const EncodableQuery&) { return embedding; });
    CHECK(absl::IsInternal(world.retriever.Search(TextSearch("x"), world.Call()).status()));
  }
}

// --- reranker ---

TEST_CASE("without a reranker a search is degraded and keeps retrieval order") {
  World world;
  SECTION("none is configured") {
    world.backends.reranker = nullptr;
  }
  SECTION("down") {
    world.reranker->behaviour().FailWith(absl::UnavailableError("down"));
  }
  SECTION("full") {
    world.reranker->behaviour().FailWith(absl::ResourceExhaustedError("full"));
  }
  SECTION("without the model") {
    world.reranker->behaviour().FailWith(absl::FailedPreconditionError("not held"));
  }
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(result->rerank == RerankOutcome::kFailed);
  CHECK(result->requested_depth == 20);
  CHECK(result->achieved_depth == 0);
  CHECK(result->degraded == std::vector<DegradedReason>{DegradedReason::kRerankerFailed});
  CHECK_FALSE(result->failures.empty());
  CHECK(Ids(result->hits) == Referee(world.pictures, "a fish", 10, 0, Combination{}));
}

TEST_CASE("a reranker that refuses is left alone") {
  World world;
  world.reranker->behaviour().FailWith(absl::UnavailableError("down"));
  SearchRequest request = TextSearch("a fish");
  request.depth = 40;
  REQUIRE(world.retriever.Search(request, world.Call()).ok());
  CHECK(world.reranker->behaviour().calls() == 2);  // those under way at once
}

TEST_CASE("a reranker that never answers costs its share of the time and no more") {
  World world;
  world.reranker->behaviour().Ignore();
  auto result = std::async(std::launch::async, [&] {
    return world.retriever.Search(TextSearch("a fish"), world.Call());
  });
  world.reranker->behaviour().AwaitCalls(2);
  world.clock.AwaitSleepers(1);
  world.clock.Advance(absl::Milliseconds(950));
  const auto answer = result.get();
  REQUIRE(answer.ok());
  CHECK(answer->rerank == RerankOutcome::kFailed);
  CHECK(answer->degraded == std::vector<DegradedReason>{DegradedReason::kRerankerLate});
  CHECK(Ids(answer->hits) == Referee(world.pictures, "a fish", 10, 0, Combination{}));
  CHECK(answer->hits.front().caption != "");  // the reserve is for this
  CHECK(answer->times.total == absl::Milliseconds(950));
  CHECK(world.reranker->behaviour().cancelled() == 2);
}

// Retrieval order, but with the candidates of the given slices first, best match first.
std::vector<std::string> ScoredFirst(const World& world, const std::string& text, int depth,
                                     int slice_size, const std::vector<int>& slices) {
  std::vector<std::pair<float, std::string>> block;
  std::vector<std::string> rest;
  const std::vector<Candidate> all = RankAll(world.pictures, text);
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    const bool scored = i < depth && std::count(slices.begin(), slices.end(), i / slice_size) > 0;
    if (scored) {
      block.emplace_back(-MatchOf(text, all[i].item_id), all[i].item_id);
    } else {
      rest.push_back(all[i].item_id);
    }
  }
  std::sort(block.begin(), block.end());
  std::vector<std::string> ids;
  for (const auto& [score, item_id] : block) ids.push_back(item_id);
  ids.insert(ids.end(), rest.begin(), rest.end());
  return ids;
}

TEST_CASE("what is scored in time goes first, what is late keeps retrieval order") {
  World world;
  // Of four slices the second hangs; the others pass it.
  world.reranker->behaviour().Follow([](int call) {
    FakeAnswer answer;
    if (call == 1) answer.when = FakeAnswer::When::kHeld;
    return answer;
  });
  SearchRequest request = TextSearch("a fish");
  request.depth = 40;
  request.top_k = 40;
  auto result =
      std::async(std::launch::async, [&] { return world.retriever.Search(request, world.Call()); });
  world.reranker->behaviour().AwaitCalls(4);
  world.clock.AwaitSleepers(1);
  world.clock.Advance(absl::Milliseconds(950));
  const auto answer = result.get();
  world.reranker->behaviour().Release();  // too late, and harmless
  REQUIRE(answer.ok());
  CHECK(answer->rerank == RerankOutcome::kPartial);
  CHECK(answer->achieved_depth == 30);
  CHECK(answer->degraded == std::vector<DegradedReason>{DegradedReason::kRerankerLate});
  CHECK(Ids(answer->hits) == ScoredFirst(world, "a fish", 40, 10, {0, 2, 3}));
}

TEST_CASE("a slice that fails costs that slice") {
  World world;
  SECTION("an error of its own") {
    world.reranker->behaviour().Follow([](int call) {
      FakeAnswer answer;
      if (call == 0) answer.status = absl::DataLossError("a row is corrupt");
      return answer;
    });
  }
  SECTION("a score that is not a number") {
    const std::string bad = RankAll(world.pictures, "a fish")[4].item_id;
    world.backends.reranker = std::make_shared<FakeReranker>(
        [&world, bad](const RerankSide&, const RerankSide& candidate) {
          const std::string item_id = world.NameOf(candidate);
          return item_id == bad ? NAN : MatchOf("a fish", item_id);
        });
  }
  SearchRequest request = TextSearch("a fish");
  request.top_k = 40;
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->rerank == RerankOutcome::kPartial);
  CHECK(result->achieved_depth == 10);
  CHECK(result->degraded == std::vector<DegradedReason>{DegradedReason::kRerankerFailed});
  CHECK(Ids(result->hits) == ScoredFirst(world, "a fish", 20, 10, {1}));
}

// A reranker whose answers are too short.
class ShortReranker : public RerankerClient {
 public:
  void RerankCandidates(const CallContext&, RerankRequest request,
                        Done<RerankResponse> done) override {
    RerankResponse response;
    response.scores.resize(request.candidates.size() - 1);
    done(response);
  }
};

TEST_CASE("a slice with too few scores is a failed slice") {
  World world;
  world.backends.reranker = std::make_shared<ShortReranker>();
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(result->rerank == RerankOutcome::kFailed);
  CHECK(result->degraded == std::vector<DegradedReason>{DegradedReason::kRerankerFailed});
}

TEST_CASE("a slice that cannot end in time is not begun") {
  WorldOptions options;
  options.images = 120;
  options.retriever.rerank_parallelism = 1;
  World world(options);
  // Nine slices of 100 ms fit into 950 ms, the tenth would not.
  world.reranker->behaviour().BeforeEach([&] { world.clock.Advance(absl::Milliseconds(100)); });
  SearchRequest request = TextSearch("a fish");
  request.depth = 100;
  const auto result = world.retriever.Search(request, world.Call());
  REQUIRE(result.ok());
  CHECK(result->requested_depth == 100);
  CHECK(result->achieved_depth == 90);
  CHECK(result->rerank == RerankOutcome::kPartial);
  CHECK(result->degraded == std::vector<DegradedReason>{DegradedReason::kDepthReduced});
  CHECK(world.reranker->behaviour().calls() == 9);
  CHECK(Ids(result->hits) == Referee(world.pictures, "a fish", 10, 90, Combination{}));
}

TEST_CASE("as many are sent as the reranker will score in time, and these are scored") {
  WorldOptions options;
  SECTION("by its pace") {}
  SECTION("or all of them") {
    options.retriever.fit_depth = false;
  }
  World world(options);
  // A hundred a second.
  world.reranker->behaviour().BeforeEach([&] { world.clock.Advance(absl::Milliseconds(100)); });
  CHECK(world.retriever.Search(TextSearch("a bird"), world.Call())->degraded.empty());
  world.reranker->behaviour().BeforeEach([] {});
  const auto sent = [&world] {
    size_t candidates = 0;
    for (const RerankRequest& request : world.reranker->requests()) {
      candidates += request.candidates.size();
    }
    return candidates;
  };
  const size_t before = sent();
  const auto result =
      world.retriever.Search(TextSearch("a fish"), world.Call(absl::Milliseconds(200)));
  REQUIRE(result.ok());
  // 180 ms are left for reranking, of which nine tenths are planned for.
  const int fits = options.retriever.fit_depth ? 16 : 20;
  CHECK(sent() - before == fits);
  CHECK(result->requested_depth == 20);
  CHECK(result->achieved_depth == fits);
  CHECK(Ids(result->hits) == Referee(world.pictures, "a fish", 10, fits, Combination{}));
  if (!options.retriever.fit_depth) {
    CHECK(result->degraded.empty());
    return;
  }
  CHECK(result->rerank == RerankOutcome::kPartial);
  CHECK(result->degraded == std::vector<DegradedReason>{DegradedReason::kDepthReduced});
  CHECK(result->failures.empty());
  // With more time, all.
  CHECK(world.retriever.Search(TextSearch("a fish"), world.Call())->degraded.empty());
}

TEST_CASE("nothing is reranked once the time for it has gone") {
  World world;
  world.pictures.shard(2).search().BeforeEach(
      [&] { world.clock.Advance(absl::Milliseconds(955)); });
  const auto result = world.retriever.Search(TextSearch("a fish"), world.Call());
  REQUIRE(result.ok());
  CHECK(result->rerank == RerankOutcome::kFailed);
  CHECK(result->degraded == std::vector<DegradedReason>{DegradedReason::kDepthReduced});
  CHECK(world.reranker->behaviour().calls() == 0);
  CHECK(Ids(result->hits) == Referee(world.pictures, "a fish", 10, 0, Combination{}));
}

// --- deadlines and cancellation ---

TEST_CASE("a call that is over is refused at once") {
  World world;
  const auto late = world.retriever.Search(TextSearch("a fish"), world.Call(absl::ZeroDuration()));
  CHECK(absl::IsDeadlineExceeded(late.status()));
  const CallContext call = world.Call();
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(world.retriever.Search(TextSearch("a fish"), call).status()));
  CHECK(world.encoder->behaviour().calls() == 0);
}

TEST_CASE("a deadline that not even retrieval fits into is refused at once") {
  World world;
  const auto result =
      world.retriever.Search(TextSearch("a fish"), world.Call(absl::Milliseconds(2)));
  CHECK(absl::IsDeadlineExceeded(result.status()));
  CHECK(world.encoder->behaviour().calls() == 0);
}

TEST_CASE("a caller who goes away ends every wait") {
  World world;
  FakeBehaviour* waiting = nullptr;
  SECTION("for the encoder") {
    waiting = &world.encoder->behaviour();
  }
  SECTION("for a shard") {
    waiting = &world.pictures.shard(1).search();
  }
  SECTION("for the reranker") {
    waiting = &world.reranker->behaviour();
  }
  SECTION("for records") {
    waiting = &world.pictures.shard(0).fetch();
  }
  waiting->Ignore();
  const CallContext call = world.Call();
  auto result = std::async(std::launch::async,
                           [&] { return world.retriever.Search(TextSearch("a fish"), call); });
  waiting->AwaitCalls(1);
  world.clock.AwaitSleepers(1);
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(result.get().status()));
  CHECK(waiting->cancelled() == waiting->calls());
}

}  // namespace
}  // namespace sightline
