#include "common/retrieval/rerank_block.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

RerankScore Raw(float raw) {
  return {raw, ToProbability(ScoreKind::kRankRaw, raw)};
}

std::string IdsOf(const std::vector<Hit>& hits) {
  std::string ids;
  for (const Hit& hit : hits) ids += hit.item_id;
  return ids;
}

TEST_CASE("raw scores whose probabilities round to the same number keep their order") {
  const std::vector<Candidate> candidates = {
      {"a", 0, 0, 4}, {"b", 0, 1, 3}, {"c", 0, 2, 2}, {"d", 0, 3, 1}, {"e", 0, 4, 0}};
  const std::vector<absl::optional<RerankScore>> sure = {Raw(18), Raw(40), absl::nullopt, Raw(25)};
  REQUIRE(sure[0]->probability == sure[1]->probability);
  const std::vector<Hit> hits = OrderHits(candidates, sure, Combination());
  REQUIRE(IdsOf(hits) == "bdace");
  REQUIRE(hits[0].rerank_score == 1);
  REQUIRE(hits[0].stage == HitStage::kReranked);
  REQUIRE(hits[3].stage != HitStage::kReranked);
  const std::vector<absl::optional<RerankScore>> unsure = {Raw(-200), Raw(-120), Raw(-150)};
  REQUIRE(IdsOf(OrderHits(candidates, unsure, Combination())) == "bcade");
}

TEST_CASE("equal scores are ordered by id") {
  const std::vector<Candidate> candidates = {{"b", 0, 0, 4}, {"a", 0, 1, 3}};
  const std::vector<absl::optional<RerankScore>> scores = {Raw(1), Raw(1)};
  REQUIRE(IdsOf(OrderHits(candidates, scores, Combination())) == "ab");
}

TEST_CASE("where retrieval weighs too, the raw score only breaks ties") {
  const std::vector<Candidate> candidates = {{"a", 0, 0, 0.9f}, {"b", 0, 1, 0.8f}};
  const std::vector<absl::optional<RerankScore>> scores = {Raw(20), Raw(30)};
  const Combination added{CombinationKind::kAddLambda, 0.5f};
  REQUIRE(IdsOf(OrderHits(candidates, scores, added)) == "ab");
}

}  // namespace
}  // namespace sightline
