#include "common/index/nearest_centroids.h"

#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

std::vector<float> Normals(std::mt19937& random, int64_t count) {
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(random);
  return numbers;
}

double Distance(const float* a, const float* b, int dimension) {
  double sum = 0;
  for (int j = 0; j < dimension; ++j) sum += (double{a[j]} - b[j]) * (double{a[j]} - b[j]);
  return sum;
}

TEST_CASE("each row's centroid is as near as any") {
  std::mt19937 random(1);
  for (const int dimension : {1, 3, 16, 65, 100}) {
    for (const int64_t count : {1, 2, 95, 96, 97, 300}) {
      const std::vector<float> centroids = Normals(random, count * dimension);
      for (const int64_t rows : {1, 63, 64, 65, 150}) {
        const std::vector<float> values = Normals(random, rows * dimension);
        std::vector<int32_t> nearest(rows, -1);
        NearestCentroids(centroids.data(), count, dimension)
            .Assign(values.data(), rows, nearest.data());
        for (int64_t i = 0; i < rows; ++i) {
          REQUIRE(nearest[i] >= 0);
          REQUIRE(nearest[i] < count);
          const float* const row = values.data() + i * dimension;
          double least = 1e30;
          for (int64_t c = 0; c < count; ++c) {
            least = std::min(least, Distance(row, centroids.data() + c * dimension, dimension));
          }
          REQUIRE(Distance(row, centroids.data() + nearest[i] * dimension, dimension) <=
                  least + 1e-3);
        }
      }
    }
  }
}

TEST_CASE("of equally near ones it is the first, and a row's is the same in any company") {
  std::mt19937 random(2);
  std::vector<float> centroids = Normals(random, 100 * 8);
  std::copy_n(centroids.begin() + 10 * 8, 8, centroids.begin() + 98 * 8);
  const NearestCentroids nearest(centroids.data(), 100, 8);
  int32_t found = -1;
  nearest.Assign(centroids.data() + 98 * 8, 1, &found);
  REQUIRE(found == 10);
  const std::vector<float> rows = Normals(random, 130 * 8);
  std::vector<int32_t> together(130);
  nearest.Assign(rows.data(), 130, together.data());
  for (int64_t i = 0; i < 130; ++i) {
    nearest.Assign(rows.data() + i * 8, 1, &found);
    REQUIRE(found == together[i]);
  }
}

TEST_CASE("of many, all but few rows go to the nearest, and each to one that is nearly as near") {
  std::mt19937 random(3);
  constexpr int kDimension = 24;
  constexpr int64_t kCount = 2000, kRows = 1000;
  static_assert(kCount >= NearestCentroids::kLeastGrouped, "in groups");
  const std::vector<float> centroids = Normals(random, kCount * kDimension);
  // Rows around centroids, as lists have them.
  std::vector<float> rows = Normals(random, kRows * kDimension);
  for (int64_t i = 0; i < kRows * kDimension; ++i) rows[i] = centroids[i] + 0.5f * rows[i];
  std::vector<int32_t> nearest(kRows);
  const NearestCentroids grouped(centroids.data(), kCount, kDimension);
  grouped.Assign(rows.data(), kRows, nearest.data());
  int64_t missed = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    const float* const row = rows.data() + i * kDimension;
    double least = 1e30;
    for (int64_t c = 0; c < kCount; ++c) {
      least = std::min(least, Distance(row, centroids.data() + c * kDimension, kDimension));
    }
    const double found = Distance(row, centroids.data() + nearest[i] * kDimension, kDimension);
    missed += found > least + 1e-3;
    int32_t alone = -1;
    grouped.Assign(row, 1, &alone);
    REQUIRE(alone == nearest[i]);
  }
  REQUIRE(missed < kRows / 20);
}

}  // namespace
}  // namespace sightline
