#include "common/training/nearest_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// Every row is looked at, one by one.
std::vector<int64_t> Slowly(const at::Tensor& queries, const at::Tensor& pool, int64_t kept,
                            const std::function<bool(int64_t, int64_t)>& is_wrong) {
  std::vector<int64_t> nearest;
  for (int64_t i = 0; i < queries.size(0); ++i) {
    std::vector<std::pair<double, int64_t>> wrong;
    for (int64_t j = 0; j < pool.size(0); ++j) {
      if (is_wrong(i, j)) wrong.emplace_back(-(queries[i] * pool[j]).sum().item<double>(), j);
    }
    std::sort(wrong.begin(), wrong.end());
    for (int64_t k = 0; k < kept; ++k) {
      nearest.push_back(k < static_cast<int64_t>(wrong.size()) ? wrong[k].second : -1);
    }
  }
  return nearest;
}

TEST_CASE("nearest rows are those that a plain search finds, whatever is not wrong") {
  at::manual_seed(1);
  const at::Tensor queries = at::randn({7, 5}), pool = at::randn({90, 5});
  const at::Tensor scores = at::mm(queries, pool.t());
  const std::vector<std::function<bool(int64_t, int64_t)>> ways = {
      [](int64_t, int64_t) { return true; },
      [](int64_t query, int64_t row) { return (query + row) % 3 == 0; },
      // All that are near are right: more than are looked at first.
      [&](int64_t query, int64_t row) { return scores[query][row].item<float>() < 0; },
      [](int64_t, int64_t row) { return row == 41 || row == 3; },
      [](int64_t, int64_t) { return false; },
  };
  for (size_t i = 0; i < ways.size(); ++i) {
    for (const int64_t kept : {1, 4, 90, 100}) {
      INFO(i << ", " << kept);
      REQUIRE(NearestRows(queries, pool, kept, ways[i]) == Slowly(queries, pool, kept, ways[i]));
    }
  }
}

}  // namespace
}  // namespace sightline
