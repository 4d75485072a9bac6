#include "common/evaluation/two_stage.h"

#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/embedding/candidate.h"
#include "common/evaluation/matrix_measure.h"
#include "common/retrieval/rerank_block.h"
#include "tests/common/evaluation/slow_measures.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

std::vector<float> RandomScores(int count, int steps, std::mt19937& random) {
  std::vector<float> scores;
  for (int i = 0; i < count; ++i) scores.push_back(static_cast<float>(random() % steps) / steps);
  return scores;
}

// As the router orders hits; ids sort as candidates stand.
std::vector<int> ServedOrder(const std::vector<float>& retrieval, const std::vector<float>& rerank,
                             ScoreKind kind, const Method& method) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < retrieval.size(); ++i) {
    candidates.push_back({absl::StrFormat("%05d", i), 0, static_cast<int64_t>(i), retrieval[i]});
  }
  std::sort(candidates.begin(), candidates.end(), RanksBefore);
  std::vector<absl::optional<RerankScore>> scores;
  for (size_t i = 0; i < candidates.size() && i < method.depth; ++i) {
    scores.emplace_back(ToRerankScore(kind, rerank[candidates[i].row]));
  }
  std::vector<int> order;
  for (const Hit& hit : OrderHits(candidates, scores, method.combination)) {
    order.push_back(static_cast<int>(hit.row));
  }
  return order;
}

std::vector<int> RanksOf(const std::vector<TieGroup>& groups) {
  std::vector<int> ranks;
  for (const TieGroup& group : groups) ranks.push_back(static_cast<int>(group.above) + 1);
  return ranks;
}

TEST_CASE("candidates stand where a search would put them") {
  std::mt19937 random(1);
  const std::vector<float> lambdas = {0, 0.1f, 0.5f, 0.9f, 1};
  const std::vector<Method> methods =
      Methods({1, 3, 10, 39, 40, 41, 100}, AllCombinations(lambdas, {}));
  for (int round = 0; round < 40; ++round) {
    // Many ties in one or both.
    const std::vector<float> retrieval = RandomScores(40, round % 2 == 0 ? 8 : 4096, random);
    const ScoreKind kind = round % 3 == 0 ? ScoreKind::kRankRaw : ScoreKind::kSoftmaxMatch;
    const std::vector<float> raw = RandomScores(40, round % 4 < 2 ? 5 : 4096, random);
    const TwoStageRow row(retrieval, 100);
    REQUIRE(row.best().size() == 40);
    std::vector<RerankScore> rerank;
    for (const int place : row.best()) rerank.push_back(ToRerankScore(kind, raw[place]));
    const std::vector<int> relevant = {static_cast<int>(random() % 20),
                                       20 + static_cast<int>(random() % 20)};
    for (const Method& method : methods) {
      INFO(MethodText(method) << " at " << method.depth);
      const std::vector<int> order = ServedOrder(retrieval, raw, kind, method);
      std::vector<int> expected;
      for (size_t i = 0; i < order.size(); ++i) {
        if (order[i] == relevant[0] || order[i] == relevant[1]) expected.push_back(i + 1);
      }
      REQUIRE(RanksOf(row.Rank(method, rerank, relevant, TieRule::kCandidateOrder)) == expected);
    }
  }
}

TEST_CASE("ties count by chance within the block and behind it, never across") {
  const std::vector<float> retrieval = {0.9f, 0.9f, 0.5f, 0.5f, 0.5f, 0.1f};
  const TwoStageRow row(retrieval, 3);
  REQUIRE(std::vector<int>(row.best().begin(), row.best().end()) == std::vector<int>{0, 1, 2});
  const std::vector<RerankScore> alike(3, RerankScore{0.5f, 0.5f});
  const Method replace = {3, {}};
  const auto groups = row.Rank(replace, alike, {1, 4}, TieRule::kExpectedRank);
  REQUIRE(groups.size() == 2);
  REQUIRE(groups[0].above == 0);
  REQUIRE(groups[0].tied == 3);
  REQUIRE(groups[1].above == 3);
  REQUIRE(groups[1].tied == 2);
}

// Two images, two captions each.
struct Tiny {
  MatrixItems items;
  EvaluationPool pool;
  std::vector<float> be = {0.9f, 0.2f, 0.8f, 0.4f,   //
                           0.6f, 0.7f, 0.1f, 0.3f};  // captions 0 and 1 are image 0's
  std::vector<float> ce = {0.1f, 0.9f, 0.3f, 0.8f,   //
                           0.8f, 0.2f, 0.7f, 0.6f};

  Tiny() {
    items.images = {"a", "b"};
    items.families = {0, 1};
    items.family_count = 2;
    items.captions = {{"a1", 0, "en"}, {"a2", 0, "en"}, {"b1", 1, "en"}, {"b2", 1, "en"}};
    pool = MakePools(*ParseProtocol("whole"), items, "")->front();
  }

  absl::StatusOr<std::vector<std::vector<QueryMeasures>>> Measure(
      Direction direction, std::vector<Method> methods,
      ScoreKind kind = ScoreKind::kSoftmaxMatch) const {
    const NamedScores retrieval = *NamedScores::Create("be", {ScoreMatrix(be, 2, 4)});
    const NamedScores rerank = *NamedScores::Create("ce", {ScoreMatrix(ce, 2, 4)});
    ComputePool threads(1);
    return MeasurePolicy({&retrieval, &rerank, kind, std::move(methods)}, direction, pool, items,
                         {}, &threads);
  }

  std::vector<double> Ranks(Direction direction, const Method& method) const {
    const auto measured = Measure(direction, {method});
    REQUIRE(measured.ok());
    std::vector<double> ranks;
    for (const QueryMeasures& query : measured->front()) ranks.push_back(query[kRank]);
    return ranks;
  }
};

TEST_CASE("policies over matrices, by hand, in both directions") {
  const Tiny tiny;
  using Doubles = std::vector<double>;
  const Method alone, two = {2, {}}, all = {4, {}};
  const Method add = {2, {CombinationKind::kAddLambda, 0.9f}};
  constexpr Direction kText = Direction::kTextToImage, kImage = Direction::kImageToText;
  // Columns: a1 0.9 > 0.6; a2 0.2 < 0.7; b1 0.1 < 0.8; b2 0.3 < 0.4.
  REQUIRE(tiny.Ranks(kText, alone) == Doubles{1, 2, 2, 2});
  // Both images are reranked: a1 0.1 < 0.8; a2 0.9 > 0.2; b1 0.7 > 0.3; b2 0.6 < 0.8.
  REQUIRE(tiny.Ranks(kText, two) == Doubles{2, 1, 1, 2});
  // a1 0.82 > 0.62; a2 0.27 < 0.65; b1 0.16 < 0.75; b2 0.33 < 0.44.
  REQUIRE(tiny.Ranks(kText, add) == Doubles{1, 2, 2, 2});
  // Rows: a finds a1 first; b finds a2, a1, b2.
  REQUIRE(tiny.Ranks(kImage, alone) == Doubles{1, 3});
  // a's best two, a1 and b1, turn around; b's best two have none of its own.
  REQUIRE(tiny.Ranks(kImage, two) == Doubles{2, 3});
  // All reranked: a finds a2 first; b finds a1, b1.
  REQUIRE(tiny.Ranks(kImage, all) == Doubles{1, 2});
  // A depth of all candidates is the cross-encoder over all pairs.
  const NamedScores ce = *NamedScores::Create("ce", {ScoreMatrix(tiny.ce, 2, 4)});
  ComputePool threads(1);
  REQUIRE(MeasurePolicy({&ce}, kImage, tiny.pool, tiny.items, {}, &threads)->front() ==
          tiny.Measure(kImage, {all})->front());
}

TEST_CASE("many methods at once are each what it is alone") {
  const Tiny tiny;
  const auto methods = Methods({1, 2, 4}, AllCombinations(std::vector<float>{0.5f}, {}));
  for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
    const auto together = tiny.Measure(direction, methods);
    REQUIRE(together.ok());
    for (size_t m = 0; m < methods.size(); ++m) {
      REQUIRE((*together)[m] == tiny.Measure(direction, {methods[m]})->front());
    }
  }
}

TEST_CASE("scores that cannot be combined are refused, where they are needed") {
  Tiny tiny;
  tiny.ce[1 * 4 + 3] = std::numeric_limits<float>::quiet_NaN();
  // Row 1's best two are captions 1 and 0.
  REQUIRE(tiny.Measure(Direction::kImageToText, {{2, {}}}).ok());
  REQUIRE(tiny.Measure(Direction::kImageToText, {{3, {}}}).status().message() ==
          "'ce' is nan at row 1, column 3 (from 0), which is no softmax_match "
          "(scores takes --depth and --languages-apart); the pair is among "
          "the best 3 of 'be', which are reranked");
  tiny.ce[1 * 4 + 3] = 4;
  REQUIRE_FALSE(tiny.Measure(Direction::kImageToText, {{3, {}}}).ok());
  REQUIRE(tiny.Measure(Direction::kImageToText, {{3, {}}}, ScoreKind::kLogitMatch).ok());
  tiny.be[0] = std::numeric_limits<float>::infinity();
  REQUIRE(tiny.Measure(Direction::kImageToText, {Method()}).ok());
  REQUIRE_THAT(std::string(tiny.Measure(Direction::kImageToText, {{1, {}}}).status().message()),
               Catch::Contains("'be' is inf at row 0, column 0 (from 0), which is not finite"));
}

}  // namespace
}  // namespace sightline
