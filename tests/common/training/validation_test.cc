#include "common/training/validation.h"

#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// The right answer is at `right` (from 0; -1 for nowhere) of 12 candidates, of which 4 are
// judged, in the order of `probability`.
RankedQuery Query(int right, const std::vector<float>& probability = {}) {
  RankedQuery query;
  for (int i = 0; i < 12; ++i) {
    query.items.push_back(100 + i);
    query.retrieval.push_back(0.9f - 0.05f * static_cast<float>(i));
    query.right.push_back(i == right);
  }
  for (const float p : probability) {
    query.reranks.push_back(ToRerankScore(ScoreKind::kSoftmaxMatch, p));
  }
  return query;
}

TEST_CASE("recall counts queries whose first right answer comes early enough") {
  const Recall recall = RecallOf({Query(0), Query(3), Query(7), Query(11), Query(-1)}, nullptr);
  REQUIRE(recall.at1 == Approx(20));
  REQUIRE(recall.at5 == Approx(40));
  REQUIRE(recall.at10 == Approx(60));
  REQUIRE(recall.mean_reciprocal_rank == Approx((1 + 1.0 / 4 + 1.0 / 8 + 1.0 / 12) / 5));
  REQUIRE(RecallOf({}, nullptr).at1 == 0);
}

TEST_CASE("the cross-encoder orders what it has judged and nothing else") {
  const Combination replace;
  const std::vector<RankedQuery> queries = {Query(2, {0.1f, 0.2f, 0.9f, 0.3f}),
                                            Query(5, {0.1f, 0.2f, 0.9f, 0.3f}),
                                            Query(0, {0.1f, 0.1f, 0.1f, 0.1f})};
  const Recall recall = RecallOf(queries, &replace);
  REQUIRE(recall.at1 == Approx(200.0 / 3));  // ties stay in the order of retrieval
  REQUIRE(recall.mean_reciprocal_rank == Approx((1 + 1.0 / 6 + 1) / 3));
}

TEST_CASE("the best combination finds most; alone wins a tie") {
  // Retrieval puts one right, the cross-encoder the other: only a sum has both.
  const std::vector<RankedQuery> both = {Query(0, {0.60f, 0.62f, 0.1f, 0.1f}),
                                         Query(1, {0.1f, 0.9f, 0.1f, 0.1f})};
  const CombinedRecall best = BestCombination(both);
  REQUIRE(best.combination.kind != CombinationKind::kReplace);
  REQUIRE(best.recall.at1 == 100);
  REQUIRE(RecallOf(both, &best.combination).at1 == 100);
  const CombinedRecall alone = BestCombination({Query(1, {0.1f, 0.9f, 0.1f, 0.1f})});
  REQUIRE(alone.combination.kind == CombinationKind::kReplace);
}

TEST_CASE("by default nothing is reranked where the best combination finds no more") {
  QueriesReport report;
  report.retrieval = {50, 60, 70, 0.55};
  report.best = {{CombinationKind::kAddLambda, 0.5f}, {50, 60, 70, 0.55}};
  REQUIRE_FALSE(ChoiceOf(report).by_default);
  REQUIRE(ChoiceOf(report).combination.kind == CombinationKind::kAddLambda);
  report.best.recall.mean_reciprocal_rank = 0.56;
  REQUIRE(ChoiceOf(report).by_default);
  report.best.recall.at1 = 49;
  REQUIRE_FALSE(ChoiceOf(report).by_default);
}

}  // namespace
}  // namespace sightline
