#include "services/sightlinectl/search_output.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

SearchResult SomeResult() {
  SearchResult result;
  result.target = {"pictures", "g1", std::string(64, '0')};
  Hit first{"stamps/fish/red", HitStage::kReranked,    0.91237f, 0.31f, 0.91237f, 1, 5,
            "a red fish",      "/stamps/fish/red.png", {}};
  Hit second{"emoji/1f41f", HitStage::kRetrieved, -0.25f, -0.25f, absl::nullopt, 0, 6, "", "", {}};
  result.hits = {first, second};
  result.shard_count = 2;
  result.answered_shard_count = 2;
  result.rerank = RerankOutcome::kComplete;
  result.requested_depth = 20;
  result.achieved_depth = 20;
  result.times = {absl::Microseconds(20100), absl::Microseconds(500), absl::Milliseconds(19),
                  absl::Microseconds(940), absl::Microseconds(41260)};
  return result;
}

TEST_CASE("hits are one aligned line each") {
  REQUIRE(FormatHits(SomeResult()) ==
          "rank    score  stage      id               caption     path\n"
          "   1   0.9124  reranked   stamps/fish/red  a red fish  /stamps/fish/red.png\n"
          "   2  -0.2500  retrieved  emoji/1f41f\n");
}

TEST_CASE("no hits are said to be none") {
  REQUIRE(FormatHits(SearchResult()) == "no hits\n");
}

TEST_CASE("two answers stand side by side, and it is told what became of reranking") {
  SearchResult retrieved = SomeResult();
  retrieved.rerank = RerankOutcome::kNotRequested;
  retrieved.hits = {retrieved.hits[1]};
  REQUIRE(FormatComparison(retrieved, SomeResult()) ==
          "rank  retrieval only  reranked 20 of 20 (replace)\n"
          "   1  emoji/1f41f     stamps/fish/red: a red fish\n"
          "   2                  emoji/1f41f\n");
  REQUIRE(FormatComparison(SearchResult(), SearchResult()) == "no hits\n");
}

TEST_CASE("a comparison fits a hundred columns: ids lose their beginning, captions their end") {
  SearchResult result = SomeResult();
  const std::string words = "sch\xC3\xB6ne lange Namen/";
  result.hits[0].item_id = "clipart/" + words + words + words + "ende";
  result.hits[1].caption = std::string(200, 'x');
  const std::string text = FormatComparison(result, result);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    INFO(line);
    REQUIRE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }) <=
            100);
  }
  REQUIRE(absl::StrContains(text, "   1  \xE2\x80\xA6"));
  REQUIRE(absl::StrContains(text, "lange Namen/ende  "));
  REQUIRE(absl::StrContains(text, "emoji/1f41f: xxx"));
}

TEST_CASE("a caption without room for it is left out, and nothing controls the terminal") {
  SearchResult result = SomeResult();
  result.hits.resize(1);
  result.hits[0].item_id = std::string(40, 'i');
  const std::string text = FormatComparison(result, SearchResult());
  REQUIRE(absl::StrContains(text, "   1  " + std::string(40, 'i') + "\n"));
  result.hits[0].item_id = "a\x1B[1mb";
  REQUIRE(absl::StrContains(FormatComparison(result, SearchResult()), "a\xEF\xBF\xBD[1mb: a red"));
}

TEST_CASE("the summary tells where the answer comes from and where the time went") {
  REQUIRE(FormatSummary(SomeResult()) ==
          "pictures/g1, shards 2 of 2, reranked 20 of 20 (replace), 41.3 ms (encode 20.1 ms, "
          "search 0.5 ms, rerank 19.0 ms, fetch 0.9 ms)\n");
}

TEST_CASE("the summary of an answer that was kept has no stages") {
  SearchResult result = SomeResult();
  result.from_cache = true;
  result.times = StageTimes();
  result.times.total = absl::Microseconds(200);
  REQUIRE(FormatSummary(result) ==
          "pictures/g1, shards 2 of 2, reranked 20 of 20 (replace), 0.2 ms (kept)\n");
}

TEST_CASE("the summary tells of what was not computed in float32") {
  SearchResult result = SomeResult();
  result.encoder_precision = "float32";
  result.reranker_precision = "int8";
  REQUIRE_THAT(FormatSummary(result), Catch::Contains("(replace), scored in int8, 41.3 ms ("));
  result.encoder_precision = "bfloat16";
  REQUIRE_THAT(FormatSummary(result),
               Catch::Contains("(replace), encoded in bfloat16, scored in int8, 41.3 ms ("));
}

TEST_CASE("the summary tells how many items passed and how hard was looked") {
  SearchResult result = SomeResult();
  result.matched_item_count = 1234;
  REQUIRE_THAT(FormatSummary(result),
               Catch::Contains("shards 2 of 2, 1234 items exactly, reranked 20 of 20"));
  result.effort = {false, 0.9512f, 70, true};
  result.degraded = {DegradedReason::kRecallReduced};
  REQUIRE_THAT(FormatSummary(result),
               Catch::Contains("1234 items with effort 70 (recall 0.951), reranked") &&
                   Catch::EndsWith("degraded: searched with less effort than asked for lack of "
                                   "time\n"));
  result.effort.recall = 0;
  REQUIRE_THAT(FormatSummary(result), Catch::Contains("effort 70 (recall not measured), "));
  SearchResult empty = SomeResult();
  empty.hits.clear();
  REQUIRE_THAT(FormatSummary(empty), Catch::Contains("shards 2 of 2, 0 items exactly, "));
}

TEST_CASE("a degraded answer says in what way") {
  SearchResult result = SomeResult();
  result.answered_shard_count = 1;
  result.unreachable = {"indexes/pictures/shards/1"};
  result.rerank = RerankOutcome::kPartial;
  result.achieved_depth = 10;
  result.combination = {CombinationKind::kAddLambda, 0.5f};
  result.degraded = {DegradedReason::kShardsMissing, DegradedReason::kRerankerLate};
  REQUIRE(FormatSummary(result) ==
          "pictures/g1, shards 1 of 2, reranked 10 of 20 (add_lambda:0.5), 41.3 ms (encode 20.1 "
          "ms, search 0.5 ms, rerank 19.0 ms, fetch 0.9 ms)\n"
          "degraded: shards missing: indexes/pictures/shards/1; the reranker was late\n");
}

TEST_CASE("a reranker that has a name is told") {
  SearchResult result = SomeResult();
  result.reranker = "default";
  REQUIRE_THAT(FormatSummary(result), Catch::Contains("reranked 20 of 20 (replace), "));
  result.reranker = "fine";
  REQUIRE_THAT(FormatSummary(result), Catch::Contains("reranked 20 of 20 (replace) by fine, "));
}

TEST_CASE("the summary says why nothing was reranked") {
  SearchResult result = SomeResult();
  const auto says = [&](RerankOutcome outcome, const std::string& text) {
    result.rerank = outcome;
    return FormatSummary(result).find(text) != std::string::npos;
  };
  REQUIRE(says(RerankOutcome::kNotRequested, "not reranked (depth 0)"));
  REQUIRE(says(RerankOutcome::kNotApplicable, "not reranked (nothing to rerank with)"));
  REQUIRE(says(RerankOutcome::kNotByDefault,
               "not reranked (by default none this way; --depth asks for it)"));
  REQUIRE(says(RerankOutcome::kFailed, "reranked none of 20"));
}

TEST_CASE("the JSON is the API's") {
  const auto json = nlohmann::json::parse(SearchResultJson(SomeResult()));
  REQUIRE(json["hits"].size() == 2);
  REQUIRE(json["hits"][0]["itemId"] == "stamps/fish/red");
  REQUIRE(json["hits"][0]["stage"] == "RERANKED");
  REQUIRE(json["hits"][0]["item"]["caption"] == "a red fish");
  REQUIRE_FALSE(json["hits"][1].contains("rerankScore"));
  REQUIRE(json["coverage"]["answeredShardCount"] == 2);
  REQUIRE(json["rerank"]["outcome"] == "COMPLETE");
  REQUIRE(json["times"]["rerank"] == "0.019s");
}

TEST_CASE("a score is the match, then what it was made of") {
  ScorePairsResult result;
  result.score_kind = ScoreKind::kLogitMatch;
  result.scores = {{0.25f, 0.75f, 1.0986f}};
  REQUIRE(FormatScore(result) == "0.750000\n(logit_match 1.098600, retrieval score 0.250000)\n");
}

}  // namespace
}  // namespace sightline
