#include "common/training/objectives/transport.h"

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/common/training/objectives/gradient_check.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kHidden = 5;

// Items of so many rows each, padded to the longest; what is padded is large, for nobody to see.
PaddedItems ItemsOf(const std::vector<int64_t>& lengths, uint64_t seed) {
  at::manual_seed(seed);
  int64_t longest = 0;
  for (const int64_t length : lengths) longest = std::max(longest, length);
  const auto count = static_cast<int64_t>(lengths.size());
  PaddedItems items = {at::randn({count, longest, kHidden}, at::kDouble),
                       at::zeros({count, longest})};
  for (int64_t i = 0; i < count; ++i) {
    items.mask[i].narrow(0, 0, lengths[i]).fill_(1);
    items.rows[i].narrow(0, lengths[i], longest - lengths[i]).mul_(1e3);
  }
  return items;
}

using Numbers = std::vector<std::vector<double>>;

// The same in plain loops, of one item by itself.
Numbers SlowCosts(const at::Tensor& words, const at::Tensor& regions) {
  Numbers costs;
  for (int64_t i = 0; i < words.size(0); ++i) {
    auto& row = costs.emplace_back();
    for (int64_t j = 0; j < regions.size(0); ++j) {
      double product = 0, of_word = 0, of_region = 0;
      for (int64_t k = 0; k < kHidden; ++k) {
        const double w = words[i][k].item<double>(), v = regions[j][k].item<double>();
        product += w * v;
        of_word += w * w;
        of_region += v * v;
      }
      row.push_back(1 - product / std::sqrt(of_word * of_region));
    }
  }
  return costs;
}

Numbers SlowPlan(const Numbers& costs) {
  const size_t m = costs.size(), n = costs[0].size();
  Numbers plan(m, std::vector<double>(n, 1)), scaled = plan;
  std::vector<double> by_word(m, 1.0 / static_cast<double>(m)), by_region(n);
  for (int step = 0; step < 50; ++step) {
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < n; ++j) scaled[i][j] = std::exp(-costs[i][j] / 0.5) * plan[i][j];
    }
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t i = 0; i < m; ++i) sum += scaled[i][j] * by_word[i];
      by_region[j] = 1 / (static_cast<double>(n) * sum);
    }
    for (size_t i = 0; i < m; ++i) {
      double sum = 0;
      for (size_t j = 0; j < n; ++j) sum += scaled[i][j] * by_region[j];
      by_word[i] = 1 / (static_cast<double>(m) * sum);
    }
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < n; ++j) plan[i][j] = by_word[i] * scaled[i][j] * by_region[j];
    }
  }
  return plan;
}

TEST_CASE("distances are those of plain loops over each item by itself") {
  const std::vector<int64_t> word_counts = {4, 1, 6, 3}, region_counts = {3, 5, 1, 2};
  const PaddedItems words = ItemsOf(word_counts, 1), regions = ItemsOf(region_counts, 2);
  const at::Tensor found = TransportDistances(words, regions);
  const at::Tensor plan = TransportPlan(CosineCosts(words, regions), words, regions);
  for (int64_t i = 0; i < 4; ++i) {
    const Numbers costs = SlowCosts(words.rows[i].narrow(0, 0, word_counts[i]),
                                    regions.rows[i].narrow(0, 0, region_counts[i]));
    const Numbers expected = SlowPlan(costs);
    double distance = 0;
    for (int64_t m = 0; m < word_counts[i]; ++m) {
      for (int64_t n = 0; n < region_counts[i]; ++n) {
        REQUIRE(plan[i][m][n].item<double>() == Approx(expected[m][n]).epsilon(1e-9).margin(1e-12));
        distance += expected[m][n] * costs[m][n];
      }
    }
    REQUIRE(found[i].item<double>() == Approx(distance).epsilon(1e-9));
    REQUIRE(plan[i].sum().item<double>() == Approx(1));
  }
  REQUIRE(plan[1].narrow(0, 1, 5).eq(0).all().item<bool>());
}

TEST_CASE("a plan is the cheapest that moves all: words to the regions that are as they") {
  // The third region is the first word, and so on.
  PaddedItems words = {at::eye(kHidden, at::kDouble).narrow(0, 0, 3).unsqueeze(0), {}};
  const PaddedItems regions = {words.rows.index_select(1, at::tensor({1, 2, 0}, at::kLong)), {}};
  REQUIRE(TransportDistances(words, regions)[0].item<double>() == Approx(0).margin(1e-6));
  const at::Tensor plan = TransportPlan(CosineCosts(words, regions), words, regions)[0];
  for (const auto& [word, region] : std::vector<std::pair<int, int>>{{0, 2}, {1, 0}, {2, 1}}) {
    REQUIRE(plan[word][region].item<double>() == Approx(1.0 / 3).epsilon(1e-6));
  }
  // Nothing is as nothing else: each way costs the same.
  const PaddedItems others = {at::eye(kHidden, at::kDouble).narrow(0, 3, 2).unsqueeze(0), {}};
  REQUIRE(TransportDistances(words, others)[0].item<double>() == Approx(1));
}

TEST_CASE("a row of zeros is as far from all, and no number is lost") {
  PaddedItems words = ItemsOf({2}, 3);
  words.rows[0][1].zero_();
  const at::Tensor found = TransportDistances(words, ItemsOf({3}, 4));
  REQUIRE(at::isfinite(found).all().item<bool>());
}

TEST_CASE("gradients are slopes at a plan that stays") {
  const PaddedItems words = ItemsOf({3, 2}, 5), regions = ItemsOf({2, 4}, 6);
  const at::Tensor w = Leaf(words.rows), v = Leaf(regions.rows);
  const PaddedItems of_words = {w, words.mask}, of_regions = {v, regions.mask};
  const at::Tensor plan = TransportPlan(CosineCosts(words, regions), words, regions);
  RequireGradients({w, v}, [&] { return (CosineCosts(of_words, of_regions) * plan).sum(); });
  w.mutable_grad().reset();
  v.mutable_grad().reset();
  TransportDistances(of_words, of_regions).sum().backward();
  const at::Tensor of_distance = w.grad().clone();
  w.mutable_grad().reset();
  (CosineCosts(of_words, of_regions) * plan).sum().backward();
  REQUIRE(at::allclose(of_distance, w.grad()));
}

}  // namespace
}  // namespace sightline
