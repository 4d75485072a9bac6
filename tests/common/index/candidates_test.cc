#include "common/index/candidates.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Scores of rows, of which candidates are told roughly.
struct Scores {
  // Each is told with an error, or exactly.
  RoughNeighbor Rough(std::mt19937& random, int64_t row, float error) const {
    if (random() % 4 == 0 || error == 0) return {row, scores[row], 0};
    std::uniform_real_distribution<float> off(-0.9f * error, 0.9f * error);
    return {row, scores[row] + off(random), error};
  }
  float operator()(int64_t row) const {
    ++computed;
    return scores[row];
  }
  std::vector<Neighbor> Best(int k) const {
    std::vector<Neighbor> all;
    for (size_t row = 0; row < scores.size(); ++row) {
      all.push_back({static_cast<int64_t>(row), scores[row]});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Neighbor& a, const Neighbor& b) { return a.score > b.score; });
    if (all.size() > static_cast<size_t>(k)) all.resize(k);
    return all;
  }

  std::vector<float> scores;
  mutable int64_t computed = 0;
};

void CheckBest(const Scores& scores, int k, float error, bool backwards, std::mt19937& random) {
  const auto exact = [&](int64_t row) { return scores(row); };
  Candidates one(k), other(k);
  float floor = -kInfinity;
  const auto count = static_cast<int64_t>(scores.scores.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = backwards ? count - 1 - i : i;
    const RoughNeighbor rough = scores.Rough(random, row, error);
    if (rough.most() < floor) continue;  // as a scan does
    floor = std::max(floor, (row % 3 == 0 ? one : other).Add(rough, exact));
  }
  floor = std::max(floor, one.DropBeaten());
  const std::vector<Neighbor> expected = scores.Best(k);
  if (expected.size() == k) REQUIRE(floor <= expected.back().score);
  Candidates all(k);
  all.Add(one);
  all.Add(std::move(other));
  const std::vector<Neighbor> best = all.Take(exact);
  REQUIRE(best.size() == expected.size());
  for (size_t i = 0; i < best.size(); ++i) {
    REQUIRE(best[i].row == expected[i].row);
    REQUIRE(best[i].score == expected[i].score);
  }
}

TEST_CASE("the best k by exact scores, ties by row, however roughly they are told") {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const int count : {0, 1, 5, 100, 3000}) {
    for (const int k : {1, 2, 20, 500}) {
      for (const float error : {0.0f, 1e-3f, 0.5f, 100.0f}) {
        for (const bool ties : {false, true}) {
          Scores scores;
          for (int i = 0; i < count; ++i) {
            scores.scores.push_back(ties ? static_cast<float>(random() % 4) : normal(random));
          }
          CheckBest(scores, k, error, /*backwards=*/false, random);
          CheckBest(scores, k, error, /*backwards=*/true, random);
        }
      }
    }
  }
}

TEST_CASE("there is memory for what is kept at most, and while they are few for few") {
  // All alike, so that none is beaten.
  const auto exact = [](int64_t) { return 1.0f; };
  for (const int k : {1, 20, 500, 3000}) {
    Candidates rows(k);
    for (int64_t row = 0; row < 3 * Candidates::Capacity(k); ++row) {
      rows.Add({row, 1, 0.5f}, exact);
      REQUIRE(rows.reserved() <= std::max<int64_t>(2 * row, 16));
      REQUIRE(rows.reserved() <= Candidates::Capacity(k));
    }
  }
}

TEST_CASE("infinite scores are scores") {
  const auto exact = [](int64_t row) { return row == 0 ? -kInfinity : kInfinity; };
  Candidates rows(3);
  for (const int64_t row : {0, 1, 2}) rows.Add({row, exact(row), 0}, exact);
  const std::vector<Neighbor> best = rows.Take(exact);
  REQUIRE(best.size() == 3);
  CHECK(best[0].row == 1);
  CHECK(best[1].row == 2);
  CHECK(best[2].row == 0);
  CHECK(best[2].score == -kInfinity);
}

TEST_CASE("where scores can be told apart, few but the best are computed") {
  std::mt19937 random(2);
  Scores scores;
  for (int i = 0; i < 20000; ++i) scores.scores.push_back(static_cast<float>(i));
  std::shuffle(scores.scores.begin(), scores.scores.end(), random);
  CheckBest(scores, 20, 0.4f, false, random);
  CHECK(scores.computed <= 25);
}

}  // namespace
}  // namespace sightline
