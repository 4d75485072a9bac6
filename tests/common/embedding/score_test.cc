#include "common/embedding/score.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Floats = std::vector<float>;

// What a cross-encoder whose scores are probabilities says.
std::vector<RerankScore> Probable(const Floats& probabilities) {
  std::vector<RerankScore> scores;
  for (const float p : probabilities) scores.push_back(ToRerankScore(ScoreKind::kSigmoid, p));
  return scores;
}

constexpr ScoreKind kAllKinds[] = {ScoreKind::kRankRaw, ScoreKind::kSoftmaxMatch,
                                   ScoreKind::kLogitMatch, ScoreKind::kSigmoid};

TEST_CASE("names of kinds survive a round trip; unknown ones are refused with a list") {
  for (const ScoreKind kind : kAllKinds) {
    REQUIRE(ParseScoreKind(ScoreKindName(kind)).value() == kind);
  }
  for (const CombinationKind kind :
       {CombinationKind::kReplace, CombinationKind::kAddLambda, CombinationKind::kNormAddLambda}) {
    REQUIRE(ParseCombinationKind(CombinationKindName(kind)).value() == kind);
  }
  const absl::Status score = ParseScoreKind("Rank_raw").status();
  REQUIRE(score.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(std::string(score.message()).find("\"Rank_raw\"") != std::string::npos);
  REQUIRE(std::string(score.message()).find("logit_match") != std::string::npos);
  REQUIRE(ParseCombinationKind("").status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("unbounded scores go through the sigmoid, probabilities stay") {
  for (const ScoreKind kind : {ScoreKind::kRankRaw, ScoreKind::kLogitMatch}) {
    REQUIRE(ToProbability(kind, 0) == 0.5f);
    REQUIRE(ToProbability(kind, 2) == Approx(0.8807970779778823));
    REQUIRE(ToProbability(kind, -2) == Approx(0.1192029220221176));
    REQUIRE(ToProbability(kind, std::numeric_limits<float>::max()) == 1);
    REQUIRE(ToProbability(kind, std::numeric_limits<float>::lowest()) == 0);
  }
  for (const ScoreKind kind : {ScoreKind::kSoftmaxMatch, ScoreKind::kSigmoid}) {
    for (const float p : {0.0f, 0.25f, 1.0f}) REQUIRE(ToProbability(kind, p) == p);
    REQUIRE(ToProbability(kind, std::nextafter(1.0f, 2.0f)) == 1);
  }
}

TEST_CASE("mapping to a probability never reverses an order") {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 4);
  for (const ScoreKind kind : kAllKinds) {
    for (int i = 0; i < 20000; ++i) {
      const float raw = normal(random);
      const float above = std::nextafter(raw, std::numeric_limits<float>::max());
      REQUIRE(ToProbability(kind, raw) <= ToProbability(kind, above));
      REQUIRE(ToProbability(kind, raw) >= 0);
      REQUIRE(ToProbability(kind, raw) <= 1);
    }
  }
}

TEST_CASE("NaN stays NaN") {
  for (const ScoreKind kind : kAllKinds) REQUIRE(std::isnan(ToProbability(kind, std::nanf(""))));
}

TEST_CASE("lambda must be a number between 0 and 1") {
  for (const float good : {0.0f, 0.5f, 1.0f}) {
    REQUIRE(Validate({CombinationKind::kAddLambda, good}).ok());
  }
  for (const float bad : {-0.01f, 1.01f, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    REQUIRE(Validate({CombinationKind::kAddLambda, bad}).code() ==
            absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("replace orders by the cross-encoder alone") {
  const std::vector<RerankScore> scores = Probable({0.3f, 0.2f, 0.1f});
  REQUIRE(Combine({CombinationKind::kReplace, 0.7f}, {5, 6, 7}, scores) ==
          Floats{0.3f, 0.2f, 0.1f});
}

TEST_CASE("alone, unbounded scores are told on a grid, beyond where probabilities end") {
  const Combination replace;
  for (const ScoreKind kind : {ScoreKind::kRankRaw, ScoreKind::kLogitMatch}) {
    // Alike but for rounding, as of one pair in two batches; a grid's step apart; far apart.
    const Floats raw = {18.25f, 18.25f + 4e-6f, 18.25f - 4e-6f, 18.25f + 1.0f / 1024, 40};
    std::vector<RerankScore> scores;
    for (const float each : raw) scores.push_back(ToRerankScore(kind, each));
    for (const RerankScore& score : scores) REQUIRE(score.probability == 1);
    const Floats told = Combine(replace, Floats(raw.size()), scores);
    REQUIRE(told == Floats{18.25f, 18.25f, 18.25f, 18.25f + 1.0f / 1024, 40});
    REQUIRE(GridOf(replace, kind) == kRawScoreGrid);
    REQUIRE(GridOf({CombinationKind::kAddLambda, 0.5f}, kind) == 0);
  }
  for (const ScoreKind kind : {ScoreKind::kSoftmaxMatch, ScoreKind::kSigmoid}) {
    const float next = std::nextafter(0.7f, 1.0f);
    const Floats told =
        Combine(replace, {0, 0}, {ToRerankScore(kind, 0.7f), ToRerankScore(kind, next)});
    REQUIRE(told == Floats{0.7f, next});
    REQUIRE(GridOf(replace, kind) == 0);
  }
}

TEST_CASE("the grid takes every float, reverses no order and has one zero") {
  const float max = std::numeric_limits<float>::max();
  for (const float raw : {max, -max, 123456789.0f, 0.0f}) {
    REQUIRE(ToRerankScore(ScoreKind::kRankRaw, raw).alone == raw);
  }
  REQUIRE_FALSE(std::signbit(ToRerankScore(ScoreKind::kRankRaw, -1e-9f).alone));
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 8);
  for (int i = 0; i < 20000; ++i) {
    const float raw = normal(random);
    const float above = raw + 1e-3f * std::abs(normal(random));
    const float told = ToRerankScore(ScoreKind::kRankRaw, raw).alone;
    REQUIRE(told <= ToRerankScore(ScoreKind::kRankRaw, above).alone);
    REQUIRE(std::abs(told - raw) <= kRawScoreGrid / 2 * 1.001f);
  }
}

TEST_CASE("add_lambda weighs the retrieval score by lambda") {
  const Floats combined =
      Combine({CombinationKind::kAddLambda, 0.25f}, {0.8f, -0.4f}, Probable({0.5f, 1.0f}));
  REQUIRE(combined[0] == Approx(0.25 * 0.8 + 0.75 * 0.5));
  REQUIRE(combined[1] == Approx(0.25 * -0.4 + 0.75 * 1.0));
}

TEST_CASE("norm_add_lambda maps each of the two to [0, 1] first, negative minima included") {
  const Floats combined = Combine({CombinationKind::kNormAddLambda, 0.1f}, {-0.5f, 0.5f, 0.0f},
                                  Probable({0.2f, 0.4f, 0.6f}));
  REQUIRE(combined[0] == Approx(0.1 * 0 + 0.9 * 0).margin(1e-6));
  REQUIRE(combined[1] == Approx(0.1 * 1 + 0.9 * 0.5));
  REQUIRE(combined[2] == Approx(0.1 * 0.5 + 0.9 * 1));
}

TEST_CASE("a block of equal scores is normalised to zero") {
  const Combination half{CombinationKind::kNormAddLambda, 0.5f};
  REQUIRE(Combine(half, {3, 3}, Probable({0, 1})) == Floats{0, 0.5f});
  REQUIRE(Combine(half, {3}, Probable({0.9f})) == Floats{0});
}

TEST_CASE("normalising the whole range of floats does not overflow") {
  const float max = std::numeric_limits<float>::max();
  REQUIRE(Combine({CombinationKind::kNormAddLambda, 1}, {-max, 0, max}, Probable({0, 0, 0})) ==
          Floats{0, 0.5f, 1});
}

TEST_CASE("sums take the probability of an unbounded score") {
  const std::vector<RerankScore> scores = {ToRerankScore(ScoreKind::kRankRaw, 2)};
  REQUIRE(Combine({CombinationKind::kAddLambda, 0.5f}, {0.5f}, scores)[0] ==
          Approx(0.5 * 0.5 + 0.5 * 0.8807970779778823));
}

TEST_CASE("lambda tells combinations apart only where it counts") {
  REQUIRE(SameCombination({CombinationKind::kReplace, 0.1f}, {CombinationKind::kReplace, 0.9f}));
  REQUIRE_FALSE(
      SameCombination({CombinationKind::kAddLambda, 0.1f}, {CombinationKind::kAddLambda, 0.9f}));
  REQUIRE(CombinationText({CombinationKind::kReplace, 0.1f}) == "replace");
  REQUIRE(CombinationText({CombinationKind::kNormAddLambda, 0.3f}) == "norm_add_lambda:0.3");
}

TEST_CASE("combining nothing gives nothing") {
  for (const CombinationKind kind :
       {CombinationKind::kReplace, CombinationKind::kAddLambda, CombinationKind::kNormAddLambda}) {
    REQUIRE(Combine({kind, 0.5f}, {}, {}).empty());
  }
}

}  // namespace
}  // namespace sightline
