#include "common/index/principal_axes.h"

#include <cmath>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

double Product(const float* a, const float* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double{a[i]} * b[i];
  return sum;
}

// Rows that are spread along number 3 i of `dimension` by deviation 1 / (i + 1), and nowhere else.
Sample Spread(int64_t rows, int dimension) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Sample sample;
  sample.dimension = dimension;
  sample.values.resize(rows * dimension);
  for (int64_t row = 0; row < rows; ++row) {
    for (int i = 0; 3 * i < dimension; ++i) {
      sample.values[row * dimension + 3 * i] = normal(random) / static_cast<float>(i + 1);
    }
  }
  return sample;
}

TEST_CASE("axes are of length one, at right angles, and hold the most that as many can") {
  constexpr int kDimension = 50;
  const Sample sample = Spread(2000, kDimension);
  ComputePool pool(1);
  for (const int64_t count : {1, 4, 12}) {
    const auto axes = PrincipalAxes(sample, count, 5, &pool, CallContext::Unbounded());
    REQUIRE(axes.ok());
    REQUIRE(axes->size() == count * kDimension);
    double held = 0, most = 0;
    for (int64_t i = 0; i < count; ++i) {
      const float* const axis = axes->data() + i * kDimension;
      for (int64_t j = 0; j <= i; ++j) {
        const double product = Product(axis, axes->data() + j * kDimension, kDimension);
        REQUIRE(std::fabs(product - (i == j ? 1 : 0)) < 1e-5);
      }
      for (int64_t row = 0; row < sample.rows(); ++row) {
        held += std::pow(Product(axis, sample.row(row), kDimension), 2);
        most += std::pow(sample.row(row)[3 * i], 2);
      }
    }
    REQUIRE(held > 0.98 * most);
  }
}

TEST_CASE("the same bits on any number of threads") {
  const Sample sample = Spread(500, 70);
  ComputePool one(1), three(3);
  REQUIRE(*PrincipalAxes(sample, 20, 5, &one, CallContext::Unbounded()) ==
          *PrincipalAxes(sample, 20, 5, &three, CallContext::Unbounded()));
}

TEST_CASE("rows that fill fewer axes than are wanted leave the others at zero") {
  Sample sample;
  sample.dimension = 6;
  sample.values = {1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0};
  ComputePool pool(1);
  const auto axes = PrincipalAxes(sample, 4, 5, &pool, CallContext::Unbounded());
  REQUIRE(axes.ok());
  for (const float number : *axes) REQUIRE(std::isfinite(number));
  for (int64_t i = 0; i < 4; ++i) {
    const double squares = Product(axes->data() + i * 6, axes->data() + i * 6, 6);
    REQUIRE((std::fabs(squares - 1) < 1e-5) == (i < 2));
  }
}

}  // namespace
}  // namespace sightline
