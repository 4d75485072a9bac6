#include "common/kernels/random_rotation.h"

#include <cmath>
#include <random>
#include <vector>

#include "tests/common/kernels/random_numbers.h"
#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

double Product(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

std::vector<float> Rotated(const RandomRotation& rotation, const std::vector<float>& v) {
  // What stood there before does not matter.
  std::vector<float> rotated(rotation.size(), std::nanf(""));
  rotation.Rotate(v.data(), rotated.data());
  return rotated;
}

TEST_CASE("products are kept, whatever the dimension") {
  std::mt19937 random(1);
  for (const int64_t dimension :
       {1, 2, 7, 63, 64, 65, 100, 128, 192, 256, 300, 512, 768, 1000, 1024, 1536, 4095, 4096}) {
    const RandomRotation rotation(dimension, 5);
    REQUIRE(rotation.size() % 64 == 0);
    REQUIRE(rotation.size() >= dimension);
    REQUIRE(rotation.size() < dimension + 64);
    const std::vector<float> a = Normal(dimension, 1, &random), b = Normal(dimension, 1, &random);
    const std::vector<float> c = Rotated(rotation, a), d = Rotated(rotation, b);
    const double most = 1e-5 * std::sqrt(Product(a, a) * Product(b, b));
    REQUIRE(std::fabs(Product(c, d) - Product(a, b)) <= most);
    REQUIRE(std::fabs(Product(c, c) / Product(a, a) - 1) < 1e-5);
  }
}

TEST_CASE("a vector with one number is spread over all of them") {
  for (const int64_t dimension : {64, 100, 192, 768, 1024, 1536, 2048}) {
    const RandomRotation rotation(dimension, 7);
    const auto size = static_cast<double>(rotation.size());
    for (const int64_t place : {int64_t{0}, dimension / 2, dimension - 1}) {
      std::vector<float> v(dimension);
      v[place] = 1;
      double fourth = 0, sum = 0;
      for (const float x : Rotated(rotation, v)) {
        fourth += std::pow(x, 4);
        sum += std::fabs(x);
      }
      // Normal numbers of this length have three times the fourth power of equal ones.
      REQUIRE(fourth * size < 6);
      REQUIRE(sum / std::sqrt(size) > 0.7);
    }
  }
}

TEST_CASE("another seed draws another rotation, and the same the same") {
  std::mt19937 random(2);
  const std::vector<float> v = Normal(768, 1, &random);
  const RandomRotation one(768, 1), again(768, 1), other(768, 2);
  REQUIRE(Rotated(one, v) == Rotated(again, v));
  const double cosine = Product(Rotated(one, v), Rotated(other, v)) / Product(v, v);
  REQUIRE(std::fabs(cosine) < 0.2);
  REQUIRE(one.byte_count() == 4 * 768 * 4);
}

}  // namespace
}  // namespace sightline::kernels
