#include "services/evaluator/live_ranker.h"

#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/services/evaluator/fake_search_client.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

LiveRankerOptions Options() {
  LiveRankerOptions options;
  options.images = {"images", "g7", "space"};
  options.captions = {"captions", "g7", "space"};
  options.image_reranker = "fine";
  options.caption_reranker = "finer";
  options.effort.recall = 0.9f;
  options.parallel = 3;
  return options;
}

std::vector<EvaluationQuery> Queries(int count) {
  std::vector<EvaluationQuery> queries;
  for (int i = 0; i < count; ++i) {
    queries.push_back({absl::StrCat("picture-", i), absl::StrCat("caption ", i), {}});
  }
  return queries;
}

// One hit, named by all that was asked.
SearchResult Echo(const SearchRequest& request) {
  SearchResult result;
  result.target = {request.index, "g7", "space"};
  const auto* text = std::get_if<TextQuery>(&request.query);
  const auto* item = std::get_if<ItemQuery>(&request.query);
  result.hits = {HitOf(
      absl::StrCat(text != nullptr ? text->text : absl::StrCat(item->index, " ", item->item_id),
                   " top ", request.top_k, " depth ", *request.depth,
                   request.combination.has_value() ? MethodText({1, *request.combination}) : ""))};
  if (*request.depth > 0) result.rerank = RerankOutcome::kComplete;
  return result;
}

absl::StatusOr<Rankings> RankWith(FakeSearchClient& client, Direction direction, int queries,
                                  const std::vector<Method>& methods) {
  LiveRanker ranker(&client, Options());
  const std::vector<EvaluationQuery> asked = Queries(queries);
  return ranker.Rank({direction, asked, methods, 50}, CallContext::Unbounded());
}

TEST_CASE("every query is asked with every method, and answers keep their places") {
  FakeSearchClient client(Echo);
  const std::vector<Method> methods = {Method(), {20, {CombinationKind::kAddLambda, 0.5f}}};
  const auto rankings = RankWith(client, Direction::kTextToImage, 40, methods);
  REQUIRE(rankings.ok());
  for (int q = 0; q < 40; ++q) {
    REQUIRE((*rankings)[q][0][0].item_id == absl::StrCat("caption ", q, " top 50 depth 0"));
    REQUIRE((*rankings)[q][1][0].item_id ==
            absl::StrCat("caption ", q, " top 50 depth 20add_lambda:0.5"));
  }
  REQUIRE(client.requests().size() == 80);
  REQUIRE(client.requests()[0].index == "images");
  REQUIRE(client.requests()[0].reranker == "fine");
  REQUIRE(client.requests()[0].effort.recall == 0.9f);
  REQUIRE_FALSE(client.requests()[0].want_records);
}

TEST_CASE("stored pictures ask the captions") {
  FakeSearchClient client(Echo);
  const auto rankings = RankWith(client, Direction::kImageToText, 1, {Method()});
  REQUIRE((*rankings)[0][0][0].item_id == "images picture-0 top 50 depth 0");
  REQUIRE(client.requests()[0].index == "captions");
  REQUIRE(client.requests()[0].reranker == "finer");
}

TEST_CASE("a busy fleet and a degraded answer are asked again, thrice in all") {
  std::atomic<int> calls{0};
  FakeSearchClient busy([&](const SearchRequest& request) -> absl::StatusOr<SearchResult> {
    const int call = calls++;
    if (call == 0) return absl::ResourceExhaustedError("full");
    SearchResult result = Echo(request);
    if (call == 1) result.degraded = {DegradedReason::kRerankerLate};
    return result;
  });
  REQUIRE(RankWith(busy, Direction::kTextToImage, 1, {Method()}).ok());
  REQUIRE(calls == 3);
  FakeSearchClient degraded([](const SearchRequest& request) {
    SearchResult result = Echo(request);
    result.degraded = {DegradedReason::kShardsMissing};
    result.failures = {absl::UnavailableError("shard 1 is away")};
    return result;
  });
  const absl::Status status = RankWith(degraded, Direction::kTextToImage, 1, {Method()}).status();
  REQUIRE(absl::IsUnavailable(status));
  REQUIRE(absl::StrContains(status.message(), "query 'picture-0'"));
  REQUIRE(absl::StrContains(status.message(), "shard 1 is away"));
  REQUIRE(degraded.requests().size() == 3);
}

TEST_CASE("what the fleet computes in is told, and an answer in anything else is none") {
  std::string told = "int8";
  FakeSearchClient client([&](const SearchRequest& request) {
    SearchResult result = Echo(request);
    if (std::holds_alternative<TextQuery>(request.query)) result.encoder_precision = told;
    if (*request.depth > 0) result.reranker_precision = "bfloat16";
    return result;
  });
  const std::vector<EvaluationQuery> queries = Queries(1);
  const Method retrieval, reranked = {20, {}};
  const auto request_of = [&](Direction direction, const Method& method) {
    return RankRequest{direction, queries, {&method, 1}, 50};
  };
  LiveRankerOptions options = Options();
  StorePrecisions precisions;
  LiveRanker any(&client, options);
  const CallContext call = CallContext::Unbounded();
  REQUIRE(any.Precisions(request_of(Direction::kImageToText, retrieval), call, &precisions).ok());
  REQUIRE(precisions == StorePrecisions());
  REQUIRE(any.Precisions(request_of(Direction::kTextToImage, reranked), call, &precisions).ok());
  REQUIRE(precisions == StorePrecisions{"int8", "bfloat16", "float32"});
  options.precisions = precisions;
  LiveRanker ranker(&client, options);
  REQUIRE(ranker.Rank(request_of(Direction::kTextToImage, reranked), call).ok());
  const absl::Status other =
      ranker.Rank(request_of(Direction::kImageToText, reranked), call).status();
  REQUIRE(absl::IsFailedPrecondition(other));
  REQUIRE(absl::StrContains(other.message(), "rerankers compute in float32 and in bfloat16"));
  told = "float32";
  REQUIRE(absl::StrContains(
      ranker.Rank(request_of(Direction::kTextToImage, reranked), call).status().message(),
      "encoders compute in int8 and in float32"));
  told.clear();  // a server that does not tell
  REQUIRE(ranker.Rank(request_of(Direction::kTextToImage, reranked), call).ok());
}

TEST_CASE("another generation, no reranker and a refusal end it at once") {
  FakeSearchClient newer([](const SearchRequest& request) {
    SearchResult result = Echo(request);
    result.target.generation = "g8";
    return result;
  });
  const absl::Status other = RankWith(newer, Direction::kTextToImage, 1, {Method()}).status();
  REQUIRE(absl::IsFailedPrecondition(other));
  REQUIRE(absl::StrContains(other.message(),
                            "the fleet serves images/g8, the store's CURRENT is "
                            "images/g7"));
  FakeSearchClient without([](const SearchRequest& request) {
    SearchResult result = Echo(request);
    result.rerank = RerankOutcome::kNotApplicable;
    return result;
  });
  REQUIRE(absl::IsFailedPrecondition(
      RankWith(without, Direction::kTextToImage, 1, {{20, {}}}).status()));
  FakeSearchClient refusing([](const SearchRequest&) -> absl::StatusOr<SearchResult> {
    return absl::InvalidArgumentError("no");
  });
  REQUIRE(absl::IsInvalidArgument(
      RankWith(refusing, Direction::kTextToImage, 50, {Method()}).status()));
  // Each of three askers at most once.
  REQUIRE(refusing.requests().size() <= 3);
}

TEST_CASE("a cancelled call asks nobody") {
  FakeSearchClient client(Echo);
  LiveRanker ranker(&client, Options());
  const std::vector<EvaluationQuery> queries = Queries(5);
  const Method method;
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  REQUIRE(absl::IsCancelled(
      ranker.Rank({Direction::kTextToImage, queries, {&method, 1}, 50}, call).status()));
  REQUIRE(client.requests().empty());
}

}  // namespace
}  // namespace sightline
