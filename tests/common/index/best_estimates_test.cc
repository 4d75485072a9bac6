#include "common/index/best_estimates.h"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("the best are kept whatever the order, ties by row") {
  std::mt19937 random(1);
  for (const int64_t count : {1, 2, 10, 100}) {
    for (const int64_t rows : {0, 1, 50, 3000}) {
      std::vector<Estimate> all;
      for (int32_t row = 0; row < rows; ++row) {
        all.push_back({static_cast<float>(random() % 20), row});
      }
      std::vector<Estimate> sorted = all;
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](const Estimate& a, const Estimate& b) { return a.value > b.value; });
      sorted.resize(std::min<size_t>(sorted.size(), count));
      for (int round = 0; round < 3; ++round) {
        std::shuffle(all.begin(), all.end(), random);
        BestEstimates first(count), second(count);
        for (size_t i = 0; i < all.size(); ++i) {
          (i % 3 == 0 ? first : second).Offer(all[i].value, all[i].row);
        }
        first.Add(second);
        std::vector<Estimate> best = first.Take();
        std::sort(best.begin(), best.end());
        REQUIRE(best.size() == sorted.size());
        for (size_t i = 0; i < best.size(); ++i) {
          REQUIRE(best[i].value == sorted[i].value);
          REQUIRE(best[i].row == sorted[i].row);
        }
      }
    }
  }
}

TEST_CASE("the limit rises to what as many reach") {
  BestEstimates best(5);
  for (int32_t row = 0; row < 1000; ++row) best.Offer(static_cast<float>(row), row);
  REQUIRE(best.limit() > 900);
  REQUIRE(best.limit() <= 995);
}

}  // namespace
}  // namespace sightline
