#include "common/evaluation/agreement.h"

#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

Hit Reranked(const char* id, float retrieval, float rerank) {
  Hit hit;
  hit.item_id = id;
  hit.stage = HitStage::kReranked;
  hit.retrieval_score = retrieval;
  hit.rerank_score = rerank;
  hit.score = rerank;
  return hit;
}

Hit Retrieved(const char* id, float score) {
  Hit hit;
  hit.item_id = id;
  hit.retrieval_score = score;
  hit.score = score;
  return hit;
}

std::vector<Hit> List() {
  return {Reranked("a", 0.5f, 0.9f), Reranked("b", 0.7f, 0.8f), Reranked("c", 0.4f, 0.2f),
          Retrieved("d", 0.3f), Retrieved("e", 0.2f)};
}

Agreement Compare(absl::Span<const Hit> expected, absl::Span<const Hit> actual) {
  return CompareHits(expected, actual, /*grid=*/0);
}

TEST_CASE("equal lists agree, and rounding is measured") {
  const Agreement same = Compare(List(), List());
  REQUIRE(same.agrees());
  REQUIRE(same.lists == 1);
  REQUIRE(same.hits == 5);
  REQUIRE(same.equal_lists == 1);
  REQUIRE(same.combined_difference == 0);
  std::vector<Hit> rounded = List();
  rounded[1].retrieval_score += 3e-6f;
  rounded[2].rerank_score = 0.2f + 2e-6f;
  rounded[2].score = 0.2f + 2e-6f;
  const Agreement close = Compare(List(), rounded);
  REQUIRE(close.agrees());
  REQUIRE(close.equal_lists == 1);
  REQUIRE(close.retrieval_difference == Approx(3e-6).epsilon(0.05));
  REQUIRE(close.rerank_difference == Approx(2e-6).epsilon(0.05));
  REQUIRE(close.combined_difference == Approx(2e-6).epsilon(0.05));
}

TEST_CASE("one score that is off is found, each kind for itself") {
  std::vector<Hit> wrong = List();
  wrong[2].retrieval_score += 1e-4f;
  REQUIRE(absl::StrContains(Compare(List(), wrong).first_problem, "'c' has retrieval score"));
  wrong = List();
  wrong[0].rerank_score = 0.9001f;
  REQUIRE(absl::StrContains(Compare(List(), wrong).first_problem, "'a' has rerank score"));
  wrong = List();
  wrong[4].score = 0.2001f;
  REQUIRE(absl::StrContains(Compare(List(), wrong).first_problem, "'e' has score"));
  wrong[4].score = NAN;
  REQUIRE(Compare(List(), wrong).differing_lists == 1);
}

TEST_CASE("large scores are allowed a share of themselves") {
  const std::vector<Hit> expected = {Retrieved("a", 1000)};
  REQUIRE(Compare(expected, {Retrieved("a", 1000.005f)}).agrees());
  REQUIRE_FALSE(Compare(expected, {Retrieved("a", 1000.02f)}).agrees());
}

TEST_CASE("a step of the grid that scores are reported on is allowed, and two are not") {
  constexpr float kGrid = 1.0f / 1024;
  const auto list = [](float first, float second) {
    std::vector<Hit> hits = {Reranked("a", 0.5f, 1), Reranked("b", 0.4f, 1), Retrieved("c", 0.3f)};
    hits[0].score = first;
    hits[1].score = second;
    return hits;
  };
  const std::vector<Hit> expected = list(20, 18);
  const Agreement step = CompareHits(expected, list(20 + kGrid, 18), kGrid);
  REQUIRE(step.agrees());
  REQUIRE(step.combined_difference == 0);
  REQUIRE_FALSE(CompareHits(expected, list(20 + kGrid, 18), 0).agrees());
  REQUIRE_FALSE(CompareHits(expected, list(20 + 2 * kGrid, 18), kGrid).agrees());
  // Neighbours on the grid may change places.
  const std::vector<Hit> close = list(18 + kGrid, 18);
  std::vector<Hit> swapped = {close[1], close[0], close[2]};
  swapped[0].score = 18 + kGrid;
  REQUIRE(CompareHits(close, swapped, kGrid).tied_lists == 1);
  // What is not reranked lies on no grid.
  std::vector<Hit> off = expected;
  off[2].score += kGrid;
  REQUIRE_FALSE(CompareHits(expected, off, kGrid).agrees());
}

TEST_CASE("ties may change places and nothing else may") {
  std::vector<Hit> expected = List();
  expected[1].score = 0.9f - 2e-6f;
  std::vector<Hit> swapped = expected;
  std::swap(swapped[0], swapped[1]);
  const Agreement tied = Compare(expected, swapped);
  REQUIRE(tied.agrees());
  REQUIRE(tied.tied_lists == 1);
  swapped = List();
  std::swap(swapped[0], swapped[1]);
  REQUIRE(Compare(List(), swapped).first_problem == "'b' is at place 1, where 'a' belongs");
}

TEST_CASE("another item at the end is a tie only if it ties") {
  std::vector<Hit> other = List();
  other[4] = Retrieved("f", 0.2f - 1e-6f);
  REQUIRE(Compare(List(), other).tied_lists == 1);
  other[4] = Retrieved("f", 0.19f);
  REQUIRE(Compare(List(), other).differing_lists == 1);
  other.pop_back();
  REQUIRE(absl::StrContains(Compare(List(), other).first_problem, "has 4 hits, not 5"));
}

TEST_CASE("a tie at the depth is told apart from a wrong block") {
  // "d" ties with "c", the last that was reranked, and is reranked in its place.
  std::vector<Hit> expected = List();
  expected[3] = Retrieved("d", 0.4f - 1e-6f);
  const std::vector<Hit> tie = {Reranked("d", 0.4f, 0.95f), Reranked("a", 0.5f, 0.9f),
                                Reranked("b", 0.7f, 0.8f), Retrieved("c", 0.4f),
                                Retrieved("e", 0.2f)};
  const Agreement boundary = Compare(expected, tie);
  REQUIRE(boundary.agrees());
  REQUIRE(boundary.boundary_lists == 1);
  // The same with the scores of List(), where it does not tie.
  REQUIRE(Compare(List(), tie).differing_lists == 1);
}

TEST_CASE("sums keep the largest differences and the first problem") {
  std::vector<Hit> wrong = List();
  wrong[0].retrieval_score += 0.5f;
  Agreement total;
  total.Add(Compare(List(), List()));
  total.Add(Compare(List(), wrong));
  total.Add(Compare(List(), {}));
  REQUIRE(total.lists == 3);
  REQUIRE(total.equal_lists == 1);
  REQUIRE(total.differing_lists == 2);
  REQUIRE(total.retrieval_difference == Approx(0.5));
  REQUIRE(absl::StrContains(total.first_problem, "'a' has retrieval score"));
}

}  // namespace
}  // namespace sightline
