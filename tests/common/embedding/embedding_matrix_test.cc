#include "common/embedding/embedding_matrix.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double Length(absl::Span<const float> row) {
  double squares = 0;
  for (const float value : row) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

TEST_CASE("a new matrix is zero and its rows lie one behind the other") {
  EmbeddingMatrix matrix(3, 5);
  REQUIRE(matrix.values().size() == 15);
  for (const float value : matrix.values()) REQUIRE(value == 0);
  matrix.mutable_row(1)[4] = 7;
  REQUIRE(matrix.data()[9] == 7);
  REQUIRE(matrix.row(1)[4] == 7);
}

TEST_CASE("normalised rows have length one and keep their direction") {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 3);
  for (const int dimension : {1, 2, 7, 64, 769}) {
    EmbeddingMatrix matrix(9, dimension);
    for (int64_t i = 0; i < 9 * dimension; ++i) matrix.mutable_data()[i] = normal(random);
    const EmbeddingMatrix before = matrix;
    NormalizeRows(matrix);
    for (int64_t i = 0; i < 9; ++i) {
      REQUIRE(Length(matrix.row(i)) == Approx(1).epsilon(1e-6));
      const double length = Length(before.row(i));
      for (int j = 0; j < dimension; ++j) {
        REQUIRE(matrix.row(i)[j] == Approx(before.row(i)[j] / length).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("a zero row stays zero beside one that is scaled") {
  EmbeddingMatrix matrix(2, 2);
  matrix.mutable_row(1)[0] = 3;
  matrix.mutable_row(1)[1] = 4;
  NormalizeRows(matrix);
  REQUIRE(matrix.row(0)[0] == 0);
  REQUIRE(matrix.row(0)[1] == 0);
  REQUIRE(matrix.row(1)[0] == Approx(0.6f));
  REQUIRE(matrix.row(1)[1] == Approx(0.8f));
}

TEST_CASE("the largest and the smallest floats can be normalised") {
  for (const float extreme :
       {std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()}) {
    EmbeddingMatrix matrix(1, 4);
    for (float& value : matrix.mutable_row(0)) value = extreme;
    NormalizeRows(matrix);
    for (const float value : matrix.row(0)) REQUIRE(value == 0.5f);
  }
}

TEST_CASE("one NaN or infinity anywhere is noticed, and only those are") {
  for (const size_t size : {1, 3, 8, 33, 100}) {
    std::vector<float> values(size, std::numeric_limits<float>::max());
    values[0] = std::numeric_limits<float>::denorm_min();
    REQUIRE(AllFinite(values));
    for (size_t i = 0; i < size; ++i) {
      for (const float bad : {std::nanf(""), -std::nanf(""), kInfinity, -kInfinity}) {
        std::vector<float> spoilt = values;
        spoilt[i] = bad;
        REQUIRE_FALSE(AllFinite(spoilt));
      }
    }
  }
  REQUIRE(AllFinite({}));
}

}  // namespace
}  // namespace sightline
