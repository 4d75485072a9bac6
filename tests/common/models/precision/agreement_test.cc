#include "common/models/precision/agreement.h"

#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// Item i beats item j: by its score, or by its place.
bool Beats(const float* scores, int i, int j) {
  return scores[i] > scores[j] || (scores[i] == scores[j] && i < j);
}

std::set<int> Top10(const float* scores, int count) {
  std::set<int> top;
  for (int i = 0; i < count; ++i) {
    int better = 0;
    for (int j = 0; j < count; ++j) better += Beats(scores, j, i);
    if (better < 10) top.insert(i);
  }
  return top;
}

// Pairs in the same order less those in the other, over the root of the product of how many pairs
// each of both tells apart.
double TauB(const float* a, const float* b, int count) {
  double sum = 0, by_a = 0, by_b = 0;
  for (int i = 0; i < count; ++i) {
    for (int j = i + 1; j < count; ++j) {
      const int of_a = a[i] < a[j] ? -1 : a[i] > a[j] ? 1 : 0;
      const int of_b = b[i] < b[j] ? -1 : b[i] > b[j] ? 1 : 0;
      sum += of_a * of_b;
      by_a += of_a != 0;
      by_b += of_b != 0;
    }
  }
  return sum / std::sqrt(by_a * by_b);
}

TEST_CASE("scores agree with float32's as a slow count has it") {
  constexpr int kTexts = 5, kItems = 23;
  std::mt19937 random(1);
  std::vector<float> reference, scores;
  for (int i = 0; i < kTexts * kItems; ++i) {
    // Few values, so that there are ties.
    reference.push_back(static_cast<float>(random() % 40));
    scores.push_back(reference.back() + static_cast<float>(random() % 5));
  }
  const std::vector<std::vector<int>> relevant = {{}, {3}, {}, {0, 1, 2, 3, 4, 5, 6, 7}, {22}};
  double overlap = 0, tau = 0, mean = 0, greatest = 0, found = 0;
  for (int text = 0; text < kTexts; ++text) {
    const float* a = reference.data() + text * kItems;
    const float* b = scores.data() + text * kItems;
    const std::set<int> best = Top10(a, kItems);
    for (const int item : Top10(b, kItems)) overlap += best.count(item) / 10.0 / kTexts;
    tau += TauB(a, b, kItems) / kTexts;
    for (int i = 0; i < kItems; ++i) {
      mean += std::abs(a[i] - b[i]) / (kTexts * kItems);
      greatest = std::max<double>(greatest, std::abs(a[i] - b[i]));
    }
    for (const int item : relevant[text]) {
      bool first = true;
      for (int j = 0; j < kItems; ++j) first &= j == item || Beats(b, item, j);
      found += first;
    }
  }
  const auto agreement = Compare(reference, scores, kItems, relevant);
  CHECK(agreement.top10_overlap() == Approx(overlap).epsilon(0).margin(1e-12));
  CHECK(agreement.kendall() == Approx(tau).epsilon(0).margin(1e-12));
  CHECK(agreement.mean_difference() == Approx(mean).epsilon(0).margin(1e-6));
  CHECK(agreement.greatest_difference() == greatest);
  CHECK(agreement.recall_at_1() == Approx(found / 3).epsilon(0).margin(1e-12));
  CHECK(overlap < 1);
  CHECK(tau < 1);
}

TEST_CASE("float32 agrees with itself, a reversed order with nothing") {
  std::vector<float> up, down;
  for (int i = 0; i < 20; ++i) {
    up.push_back(static_cast<float>(i));
    down.push_back(static_cast<float>(-i));
  }
  const auto same = Compare(up, up, 20, {{19}});
  CHECK(same.top10_overlap() == 1);
  CHECK(same.kendall() == 1);
  CHECK(same.greatest_difference() == 0);
  CHECK(same.recall_at_1() == 1);
  CHECK(same.score_deviation() == Approx(std::sqrt((20 * 20 - 1) / 12.0)).epsilon(0).margin(1e-9));
  const auto other = Compare(up, down, 20, {{19}});
  CHECK(other.top10_overlap() == 0);
  CHECK(other.kendall() == -1);
  CHECK(other.recall_at_1() == 0);
}

TEST_CASE("an order agrees with itself by 1 whatever its length, so that its report can be read") {
  for (int count = 2; count < 100; ++count) {
    std::vector<float> scores;
    for (int i = 0; i < count; ++i) scores.push_back(static_cast<float>(i * 37 % count));
    REQUIRE(Compare(scores, scores, count, {{}}).kendall() == 1);
  }
}

TEST_CASE("scores that are all alike agree with each other alone") {
  const std::vector<float> alike(20, 0.5f);
  std::vector<float> apart(20);
  for (int i = 0; i < 20; ++i) apart[i] = static_cast<float>(i);
  CHECK(Compare(alike, alike, 20, {{}}).kendall() == 1);
  CHECK(Compare(alike, apart, 20, {{}}).kendall() == 0);
}

}  // namespace
}  // namespace sightline
