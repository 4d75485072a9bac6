#include "common/index/code_space.h"

#include <cmath>
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

double Product(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

std::vector<float> Placed(const CodeSpace& space, const std::vector<float>& vector) {
  std::vector<float> placed(space.size());
  space.Place(vector.data(), static_cast<int64_t>(vector.size()), placed.data());
  return placed;
}

TEST_CASE("in a space of all numbers products are as they were") {
  std::mt19937 random(1);
  const CodeSpace space(100, 2);
  REQUIRE(space.size() == 128);
  const std::vector<float> a = Normals(random, 100), b = Normals(random, 100);
  REQUIRE(std::fabs(Product(Placed(space, a), Placed(space, b)) - Product(a, b)) < 1e-3);
}

TEST_CASE("along some axes products are those of what vectors have along them") {
  std::mt19937 random(3);
  // Numbers 7, 50 and 99, each of a length of its own, as no build would keep them.
  std::vector<int8_t> axes(3 * kernels::Int8RowBytes(100));
  const std::vector<float> scales = {0.5f, 0.25f, 0.125f};
  axes[7] = 2;
  axes[kernels::Int8RowBytes(100) + 50] = 4;
  axes[2 * kernels::Int8RowBytes(100) + 99] = -8;
  const CodeSpace space(axes.data(), scales.data(), 3, 100, 4);
  REQUIRE(space.size() == 64);
  const std::vector<float> a = Normals(random, 100), b = Normals(random, 100);
  const double expected = double{a[7]} * b[7] + double{a[50]} * b[50] + double{a[99]} * b[99];
  REQUIRE(std::fabs(Product(Placed(space, a), Placed(space, b)) - expected) < 1e-3);
}

}  // namespace
}  // namespace sightline
