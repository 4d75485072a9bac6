#include "common/index/rough_best.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rows with a score each, that is known but roughly.
struct Rough {
  std::vector<float> scores;
  std::vector<RoughNeighbor> rows;
  mutable std::set<int64_t> asked;

  void Add(float score, float error, std::mt19937& random) {
    const auto row = static_cast<int64_t>(scores.size());
    scores.push_back(score);
    if (std::isnan(score) || std::isinf(error)) {
      rows.push_back({row, 0, kInfinity});
      return;
    }
    const float off = std::uniform_real_distribution<float>(-0.99f, 0.99f)(random) * error;
    rows.push_back({row, score + off, error});
  }

  absl::Status operator()(absl::Span<const int64_t> wanted, absl::Span<float> to) const {
    REQUIRE(std::is_sorted(wanted.begin(), wanted.end()));
    for (size_t i = 0; i < wanted.size(); ++i) {
      REQUIRE(asked.insert(wanted[i]).second);  // nobody is asked twice
      to[i] = scores[wanted[i]];
    }
    return absl::OkStatus();
  }

  std::vector<Neighbor> Best(int k) const {
    std::vector<Neighbor> all;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (!std::isnan(scores[i])) all.push_back({static_cast<int64_t>(i), scores[i]});
    }
    std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.score > b.score; });
    all.resize(std::min<size_t>(all.size(), k));
    return all;
  }
};

// What `parts` of the rows, gathered as a scan does, come to.
std::vector<Neighbor> Gather(const Rough& rough, int k, int64_t capacity, int parts) {
  std::vector<RoughBest> best(parts, RoughBest(k, capacity));
  float floor = -kInfinity;
  for (size_t i = 0; i < rough.rows.size(); ++i) {
    if (rough.rows[i].most() < floor) continue;
    RoughBest& part = best[i * parts / rough.rows.size()];
    part.Add(rough.rows[i]);
    if (!part.full()) continue;
    REQUIRE(part.MakeRoom(rough).ok());
    REQUIRE(!part.full());
    floor = std::max(floor, part.floor());
  }
  RoughBest all = std::move(best[0]);
  for (int part = 1; part < parts; ++part) all.Merge(std::move(best[part]));
  return *all.Take(rough);
}

void RequireBest(const Rough& rough, int k, int64_t capacity) {
  for (const int parts : {1, 3}) {
    rough.asked.clear();
    const auto found = Gather(rough, k, capacity, parts);
    const auto best = rough.Best(k);
    REQUIRE(found.size() == best.size());
    for (size_t i = 0; i < best.size(); ++i) {
      REQUIRE(found[i].row == best[i].row);
      REQUIRE(found[i].score == best[i].score);
    }
  }
}

TEST_CASE("the best of rough scores are those of the exact ones, and few are asked for") {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Rough rough;
  for (int i = 0; i < 20000; ++i) rough.Add(normal(random), 0.01f, random);
  for (const int k : {1, 10, 100}) {
    RequireBest(rough, k, 16384);
    REQUIRE(rough.asked.size() < 3 * k + 20);
  }
}

TEST_CASE("errors of all sizes, infinite ones and scores that are none") {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 30; ++round) {
    Rough rough;
    const int rows = 1 + static_cast<int>(random() % 3000);
    for (int i = 0; i < rows; ++i) {
      const float errors[] = {1e-6f, 0.01f, 1, 100, kInfinity};
      const float score = std::round(8 * normal(random)) / 8;  // many of each
      rough.Add(random() % 30 == 0 ? std::nanf("") : score, errors[random() % (round % 5 + 1)],
                random);
      if (random() % 50 == 0)
        rough.Add(random() % 2 == 0 ? kInfinity : -kInfinity, kInfinity, random);
    }
    for (const int k : {1, 7, 200, 5000}) RequireBest(rough, k, 300);
  }
}

TEST_CASE("thousands of equal rows are scored as they come, in bounded memory") {
  std::mt19937 random(3);
  Rough rough;
  for (int i = 0; i < 10000; ++i) rough.Add(1, 0.1f, random);
  RequireBest(rough, 5, 200);
  RoughBest best(5, 200);
  for (const RoughNeighbor& row : rough.rows) {
    rough.asked.clear();
    best.Add(row);
    if (best.full()) REQUIRE(best.MakeRoom(rough).ok());
  }
  REQUIRE(best.floor() == 1);
}

TEST_CASE("scores that cannot be had fail, wherever they are asked for") {
  std::mt19937 random(4);
  Rough rough;
  for (int i = 0; i < 500; ++i) rough.Add(1, 0.1f, random);
  const auto fail = [](absl::Span<const int64_t>, absl::Span<float>) {
    return absl::UnavailableError("no disk");
  };
  RoughBest best(5, 100);
  for (int i = 0; !best.full(); ++i) best.Add(rough.rows[i]);
  REQUIRE(absl::IsUnavailable(best.MakeRoom(fail)));
  RoughBest few(5, 100);
  few.Add(rough.rows[0]);
  REQUIRE(absl::IsUnavailable(few.Take(fail).status()));
  REQUIRE(RoughBest(5, 100).Take(fail)->empty());
}

}  // namespace
}  // namespace sightline
