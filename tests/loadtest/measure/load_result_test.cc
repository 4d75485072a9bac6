#include "loadtest/measure/load_result.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

Tally Some() {
  Tally tally;
  tally.count = 8;
  tally.ok = 6;
  tally.degraded = 3;
  tally.codes = {{"OK", 6}, {"UNAVAILABLE", 2}};
  tally.degraded_reasons = {{"SHARDS_MISSING", 3}};
  tally.generations = {{"g1", 6}};
  tally.precisions = {{"reranker int8", 2}};
  tally.efforts = {{"exact", 6}};
  tally.check_failures = {{"order", 1}};
  tally.shards_asked = 12;
  tally.shards_answered = 9;
  tally.reranked = RerankedCounts{2, 1, 40, 30, 2, 1, 0};
  tally.known_items_asked = 5;
  tally.known_items_found = 4;
  tally.latency.Record(absl::Milliseconds(1), 8);
  tally.stages["search"].Record(absl::Microseconds(300), 6);
  return tally;
}

TEST_CASE("shares are of what they are shares of") {
  const Tally tally = Some();
  REQUIRE(tally.failed() == 2);
  REQUIRE(tally.error_share() == 0.25);
  REQUIRE(tally.degraded_share() == 0.5);
  REQUIRE(tally.coverage() == 0.75);
  REQUIRE(tally.recall() == 0.8);
  REQUIRE(tally.depth_share() == 0.75);
  REQUIRE(RecallCounts{4, 1, 40, 38}.recall() == 0.95);
  REQUIRE(RecallCounts().recall() == 1);
}

TEST_CASE("goodput is of answers in time, deep enough and better than retrieval alone") {
  RerankedCounts counts{100, 90, 2000, 800, 50, 30, 29};
  const Goodput good = GoodputOf(counts, absl::Seconds(45));
  REQUIRE(good.rate == 2);
  REQUIRE(good.depth == 8);
  REQUIRE(good.asked_depth == 20);
  REQUIRE(good.recall == 0.6);
  REQUIRE(good.retrieved_recall == 0.58);
  REQUIRE(good.holds());
  SECTION("not deep enough") {
    counts.scored = 799;
    const Goodput goodput = GoodputOf(counts, absl::Seconds(45));
    REQUIRE_FALSE(goodput.deep_enough());
    REQUIRE_FALSE(goodput.holds());
  }
  SECTION("no better than retrieval") {
    counts.right = 29;
    const Goodput goodput = GoodputOf(counts, absl::Seconds(45));
    REQUIRE_FALSE(goodput.worth_it());
    REQUIRE_FALSE(goodput.holds());
  }
  SECTION("nobody knows what is right") {
    counts.judged = counts.right = counts.retrieved_right = 0;
    REQUIRE_FALSE(GoodputOf(counts, absl::Seconds(45)).holds());
  }
}

TEST_CASE("of nothing, nothing is wrong") {
  const Tally tally;
  REQUIRE(tally.error_share() == 0);
  REQUIRE(tally.degraded_share() == 0);
  REQUIRE(tally.coverage() == 1);
  REQUIRE(tally.recall() == 1);
  REQUIRE(tally.depth_share() == 1);
}

TEST_CASE("merging adds every count") {
  Tally other;
  other.count = 2;
  other.ok = 1;
  other.degraded = 1;
  other.codes = {{"OK", 1}, {"INTERNAL", 1}};
  other.degraded_reasons = {{"SHARDS_MISSING", 1}, {"RERANKER_LATE", 1}};
  other.generations = {{"g2", 1}};
  other.precisions = {{"encoder int8", 1}, {"reranker int8", 1}};
  other.efforts = {{"exact", 1}, {"recall 0.95", 1}};
  other.filtered = FilteredCounts{2, 50};
  other.measured_recall = RecallCounts{3, 1, 30, 27};
  other.check_failures = {{"order", 1}, {"late", 1}};
  other.shards_asked = 2;
  other.shards_answered = 1;
  other.reranked = RerankedCounts{1, 1, 20, 0, 1, 1, 1};
  other.known_items_asked = 1;
  other.known_items_found = 1;
  other.latency.Record(absl::Milliseconds(2), 2);
  other.stages["search"].Record(absl::Microseconds(300));
  other.stages["encode"].Record(absl::Microseconds(100));

  Tally sum = Some();
  sum.Merge(other);
  REQUIRE(sum.count == 10);
  REQUIRE(sum.ok == 7);
  REQUIRE(sum.degraded == 4);
  using Counts = std::map<std::string, int64_t>;
  REQUIRE(sum.codes == Counts{{"INTERNAL", 1}, {"OK", 7}, {"UNAVAILABLE", 2}});
  REQUIRE(sum.degraded_reasons == Counts{{"RERANKER_LATE", 1}, {"SHARDS_MISSING", 4}});
  REQUIRE(sum.generations == Counts{{"g1", 6}, {"g2", 1}});
  REQUIRE(sum.precisions == Counts{{"encoder int8", 1}, {"reranker int8", 3}});
  REQUIRE(sum.efforts == Counts{{"exact", 7}, {"recall 0.95", 1}});
  REQUIRE(sum.filtered->matched == 50);
  REQUIRE(sum.filtered->mean_matched() == 25);
  sum.Merge(other);
  REQUIRE(sum.measured_recall->answers == 6);
  REQUIRE(sum.measured_recall->other_generation == 2);
  REQUIRE(sum.measured_recall->nearest == 60);
  REQUIRE(sum.measured_recall->found == 54);
  REQUIRE(sum.filtered->answers == 4);
  REQUIRE(sum.filtered->matched == 100);
  sum = Some();
  sum.Merge(other);
  REQUIRE(sum.check_failures == Counts{{"late", 1}, {"order", 2}});
  REQUIRE(sum.shards_asked == 14);
  REQUIRE(sum.shards_answered == 10);
  REQUIRE(sum.reranked->answers == 3);
  REQUIRE(sum.reranked->in_time == 2);
  REQUIRE(sum.reranked->asked == 60);
  REQUIRE(sum.reranked->scored == 30);
  REQUIRE(sum.reranked->judged == 3);
  REQUIRE(sum.reranked->right == 2);
  REQUIRE(sum.reranked->retrieved_right == 1);
  REQUIRE(sum.known_items_asked == 6);
  REQUIRE(sum.known_items_found == 5);
  REQUIRE(sum.latency.count() == 10);
  REQUIRE(sum.latency.max() == absl::Milliseconds(2));
  REQUIRE(sum.stages.size() == 2);
  REQUIRE(sum.stages.at("search").count() == 7);
  REQUIRE(sum.stages.at("encode").count() == 1);
}

}  // namespace
}  // namespace sightline
