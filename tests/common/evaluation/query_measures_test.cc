#include "common/evaluation/query_measures.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/common/evaluation/slow_measures.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

QueryMeasures Fast(const std::vector<float>& scores, const std::vector<int>& relevant, TieRule ties,
                   int ndcg_cutoff) {
  return MeasureQuery(RankRelevant(scores, relevant, ties), ndcg_cutoff);
}

void RequireEqual(const QueryMeasures& fast, const QueryMeasures& slow) {
  for (int m = 0; m < kQueryMeasureCount; ++m) {
    INFO(MeasureName(m));
    REQUIRE(fast[m] == Approx(slow[m]).epsilon(1e-12).margin(1e-12));
  }
}

// Some of `count` candidates, at least one.
std::vector<int> SomeOf(int count, std::mt19937& random) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), random);
  all.resize(1 + random() % count);
  return all;
}

TEST_CASE("measures of a ranking are those of the sorted list") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const int count = 1 + random() % 60;
    std::vector<float> scores;
    for (int i = 0; i < count; ++i) scores.push_back(static_cast<int>(random() % 12) - 6);
    const std::vector<int> relevant = SomeOf(count, random);
    const int cutoff = 1 + random() % 15;
    RequireEqual(Fast(scores, relevant, TieRule::kCandidateOrder, cutoff),
                 SlowMeasures(scores, relevant, TieRule::kCandidateOrder, cutoff));
  }
}

TEST_CASE("expected measures are the means over all orders of what ties") {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    const int count = 1 + random() % 7;
    std::vector<float> scores;
    for (int i = 0; i < count; ++i) scores.push_back(random() % 3);
    const std::vector<int> relevant = SomeOf(count, random);
    const int cutoff = 1 + random() % 8;
    RequireEqual(Fast(scores, relevant, TieRule::kExpectedRank, cutoff),
                 SlowMeasures(scores, relevant, TieRule::kExpectedRank, cutoff));
  }
}

TEST_CASE("ties within a long list are expected where they stand") {
  // Three better ones, then ten that tie, two of them right: places 4 to 13.
  std::vector<float> scores(20, 0.0f);
  std::fill_n(scores.begin(), 3, 2.0f);
  std::fill_n(scores.begin() + 3, 10, 1.0f);
  const QueryMeasures measures = Fast(scores, {5, 6}, TieRule::kExpectedRank, 10);
  REQUIRE(measures[kRecallAt1] == 0);
  // Not within two of ten places: 8/10 * 7/9.
  REQUIRE(measures[kRecallAt5] == Approx(1 - 56.0 / 90));
  REQUIRE(measures[kRecallAt10] == Approx(1 - 3.0 * 2 / 90));
  REQUIRE(measures[kRecallAt20] == 1);
  REQUIRE(measures[kRank] == Approx(3 + 11.0 / 3));
}

TEST_CASE("a method that scores everything alike gains nothing from the order") {
  const std::vector<float> scores(1000, 0.5f);
  const QueryMeasures first = Fast(scores, {0}, TieRule::kExpectedRank, 10);
  REQUIRE(first == Fast(scores, {999}, TieRule::kExpectedRank, 10));
  REQUIRE(first[kRecallAt10] == Approx(0.01));
  REQUIRE(first[kRank] == Approx(500.5));
  REQUIRE(Fast(scores, {0}, TieRule::kCandidateOrder, 10)[kRecallAt1] == 1);
  REQUIRE(Fast(scores, {999}, TieRule::kCandidateOrder, 10)[kRank] == 1000);
}

TEST_CASE("without ties both rules say the same, digit for digit") {
  std::mt19937 random(3);
  std::vector<float> scores(50);
  std::iota(scores.begin(), scores.end(), 0.0f);
  std::shuffle(scores.begin(), scores.end(), random);
  const std::vector<int> relevant = {4, 17, 30};
  REQUIRE(Fast(scores, relevant, TieRule::kExpectedRank, 10) ==
          Fast(scores, relevant, TieRule::kCandidateOrder, 10));
}

TEST_CASE("a list that has all that is relevant is measured as a whole ranking") {
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    const int length = 1 + random() % 60;
    std::vector<float> scores(length);
    std::iota(scores.rbegin(), scores.rend(), 0.0f);  // a candidate stands at its place
    std::vector<int> relevant = SomeOf(length, random), places;
    std::sort(relevant.begin(), relevant.end());
    for (const int candidate : relevant) places.push_back(candidate + 1);
    const int cutoff = 1 + random() % 15;
    RequireEqual(MeasureList(places, static_cast<int64_t>(places.size()), length, cutoff),
                 Fast(scores, relevant, TieRule::kCandidateOrder, cutoff));
  }
}

TEST_CASE("what a list lacks counts as never found, and as the place behind its end") {
  const QueryMeasures some = MeasureList({6, 11}, 3, 20, 10);
  REQUIRE(some[kRecallAt5] == 0);
  REQUIRE(some[kRecallAt10] == 1);
  REQUIRE(some[kReciprocalOfRank] == Approx(1.0 / 6));
  REQUIRE(some[kAveragePrecision] == Approx((1.0 / 6 + 2.0 / 11) / 3));
  const double ideal = 1 + 1 / std::log2(3.0) + 1 / std::log2(4.0);
  REQUIRE(some[kNdcg] == Approx(1 / std::log2(7.0) / ideal));
  REQUIRE(some[kRank] == 6);
  REQUIRE(MeasureList({1, 2}, 5, 20, 2)[kNdcg] == Approx(1));  // no two places could have more
  const QueryMeasures none = MeasureList({}, 2, 20, 10);
  REQUIRE(none[kRecallAt20] == 0);
  REQUIRE(none[kReciprocalOfRank] == 0);
  REQUIRE(none[kAveragePrecision] == 0);
  REQUIRE(none[kNdcg] == 0);
  REQUIRE(none[kRank] == 21);
}

TEST_CASE("infinite scores have their place") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> scores = {-infinity, 0, infinity, -infinity};
  REQUIRE(Fast(scores, {2}, TieRule::kCandidateOrder, 1)[kRank] == 1);
  REQUIRE(Fast(scores, {0}, TieRule::kCandidateOrder, 1)[kRank] == 3);
  REQUIRE(Fast(scores, {0}, TieRule::kExpectedRank, 1)[kRank] == 3.5);
}

}  // namespace
}  // namespace sightline
