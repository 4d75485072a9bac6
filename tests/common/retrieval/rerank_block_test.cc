#include "common/retrieval/rerank_block.h"

#include <algorithm>
#include <random>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Scores = std::vector<absl::optional<RerankScore>>;

RerankScore Raw(float raw) {
  return ToRerankScore(ScoreKind::kRankRaw, raw);
}

RerankScore Probable(float probability) {
  return ToRerankScore(ScoreKind::kSoftmaxMatch, probability);
}

std::string IdsOf(const std::vector<Hit>& hits) {
  std::string ids;
  for (const Hit& hit : hits) ids += hit.item_id;
  return ids;
}

TEST_CASE("raw scores whose probabilities round to the same number keep their order") {
  const std::vector<Candidate> candidates = {
      {"a", 0, 0, 4}, {"b", 0, 1, 3}, {"c", 0, 2, 2}, {"d", 0, 3, 1}, {"e", 0, 4, 0}};
  const Scores sure = {Raw(18), Raw(40), absl::nullopt, Raw(25)};
  REQUIRE(sure[0]->probability == sure[1]->probability);
  const std::vector<Hit> hits = OrderHits(candidates, sure, Combination());
  REQUIRE(IdsOf(hits) == "bdace");
  REQUIRE(hits[0].rerank_score == 1);
  REQUIRE(hits[0].score == 40);
  REQUIRE(hits[1].score == 25);
  REQUIRE(hits[0].stage == HitStage::kReranked);
  REQUIRE(hits[3].stage != HitStage::kReranked);
  const Scores unsure = {Raw(-200), Raw(-120), Raw(-150)};
  REQUIRE(IdsOf(OrderHits(candidates, unsure, Combination())) == "bcade");
}

TEST_CASE("equal scores are ordered by id") {
  const std::vector<Candidate> candidates = {{"b", 0, 0, 4}, {"a", 0, 1, 3}};
  const Scores scores = {Raw(1), Raw(1)};
  REQUIRE(IdsOf(OrderHits(candidates, scores, Combination())) == "ab");
}

TEST_CASE("raw scores that differ by rounding alone are equal, whichever batch they are of") {
  const std::vector<Candidate> candidates = {{"b", 0, 0, 4}, {"a", 0, 1, 3}};
  for (const float sign : {-1.0f, 1.0f}) {
    const Scores scores = {Raw(20.5f + sign * 4e-6f), Raw(20.5f)};
    const std::vector<Hit> hits = OrderHits(candidates, scores, Combination());
    REQUIRE(IdsOf(hits) == "ab");
    REQUIRE(hits[0].score == hits[1].score);
  }
}

// Two equal pictures, whose scores differ by less than their sums with retrieval can show.
TEST_CASE("where the reported scores are equal, the id decides and nothing behind them") {
  const std::vector<Candidate> candidates = {{"a", 0, 0, 0.9f}, {"b", 0, 1, 0.9f}};
  const Combination added{CombinationKind::kAddLambda, 0.8f};
  const float p = 0.125f, above = std::nextafter(p, 1.0f);
  for (const Scores& scores : {Scores{Probable(p), Probable(above)}, Scores{Raw(20), Raw(30)}}) {
    const std::vector<Hit> hits = OrderHits(candidates, scores, added);
    REQUIRE(hits[0].score == hits[1].score);
    REQUIRE(IdsOf(hits) == "ab");
  }
}

TEST_CASE("every list is in the one order, whatever was scored and however it was combined") {
  std::mt19937 random(11);
  const auto few = [&random](int values) { return static_cast<float>(random() % values) / 4; };
  const CombinationKind kinds[] = {CombinationKind::kReplace, CombinationKind::kAddLambda,
                                   CombinationKind::kNormAddLambda};
  for (int round = 0; round < 300; ++round) {
    std::vector<Candidate> candidates;
    for (int i = 0; i < 12; ++i) candidates.push_back({std::string(1, 'a' + i), 0, i, few(4)});
    std::shuffle(candidates.begin(), candidates.end(), random);
    std::sort(candidates.begin(), candidates.end(), RanksBefore);
    Scores scores;
    for (int i = 0; i < 8; ++i) {
      scores.push_back(random() % 4 == 0 ? absl::nullopt : absl::make_optional(Raw(15 + few(40))));
    }
    const Combination combination{kinds[round % 3], 0.5f};
    const std::vector<Hit> hits = OrderHits(candidates, scores, combination);
    REQUIRE(hits.size() == candidates.size());
    REQUIRE(std::is_sorted(hits.begin(), hits.end(), StandsBefore));
    std::string ids = IdsOf(hits);
    std::sort(ids.begin(), ids.end());
    REQUIRE(ids == "abcdefghijkl");
  }
}

}  // namespace
}  // namespace sightline
