#include "common/kernels/inner_products.h"

#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// All that this CPU has.
std::vector<const InnerProductKernel*> Kernels() {
  std::vector<const InnerProductKernel*> kernels = {&InnerProductKernelFor(CpuFeatures())};
  if (ThisCpu().avx512) {
    kernels.push_back(&InnerProductKernelFor(ThisCpu()));
  } else {
    std::cout << "skipped: this CPU has no AVX-512\n";
  }
  return kernels;
}

// Rows with a gap behind each, filled with NaN so that reading it shows.
struct Matrix {
  Matrix(int64_t r, int64_t d, int64_t gap = 0)
      : rows(r), dimension(d), stride(d + gap), values(r * stride, std::nanf("")) {}
  float* row(int64_t i) { return values.data() + i * stride; }
  const float* row(int64_t i) const { return values.data() + i * stride; }

  int64_t rows;
  int64_t dimension;
  int64_t stride;
  std::vector<float> values;
};

Matrix Normals(std::mt19937& random, int64_t rows, int64_t dimension, int64_t gap = 0) {
  std::normal_distribution<float> normal;
  Matrix matrix(rows, dimension, gap);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < dimension; ++k) matrix.row(i)[k] = normal(random);
  }
  return matrix;
}

std::vector<Reached> Find(const InnerProductKernel& kernel, const Matrix& rows,
                          const Matrix& queries, const std::vector<float>& limits) {
  const QueryPanels panels(queries.row(0), queries.stride, queries.rows, queries.dimension);
  // Of queries that are none everything reaches: nothing may come of it.
  std::vector<float> padded(panels.padded_count(), -kInfinity);
  std::copy(limits.begin(), limits.end(), padded.begin());
  InnerProducts products = panels.Products();
  products.rows = rows.row(0);
  products.row_stride = rows.stride;
  products.row_count = rows.rows;
  products.limits = padded.data();
  std::vector<Reached> reached(rows.rows * queries.rows);
  reached.resize(kernel.find(products, reached.data()));
  return reached;
}

double TrueProduct(const float* a, const float* b, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < n; ++k) sum += double{a[k]} * b[k];
  return sum;
}

TEST_CASE("every product of every shape, within the error of the true one") {
  std::mt19937 random(1);
  for (const InnerProductKernel* kernel : Kernels()) {
    for (const int64_t dimension : {1, 2, 3, 4, 5, 63, 191, 192, 193, 383, 384, 385, 768, 1025}) {
      for (const int64_t queries : {1, 7, 8, 9, 15, 16, 17, 32, 33, 50}) {
        const int64_t rows = 1 + random() % kMostProductRows;
        const Matrix stored = Normals(random, rows, dimension, random() % 20);
        const Matrix asked = Normals(random, queries, dimension, random() % 20);
        const auto reached = Find(*kernel, stored, asked, std::vector<float>(queries, -kInfinity));
        REQUIRE(reached.size() == rows * queries);
        std::vector<int> seen(rows * queries);
        for (const Reached& r : reached) {
          ++seen[r.row * queries + r.query];
          const float* const a = stored.row(r.row);
          const float* const b = asked.row(r.query);
          const double error =
              InnerProductError(dimension, LengthBound(a, dimension), LengthBound(b, dimension));
          REQUIRE(std::fabs(r.product - TrueProduct(a, b, dimension)) <= error / 2);
        }
        REQUIRE(seen == std::vector<int>(rows * queries, 1));
      }
    }
  }
}

TEST_CASE("what reaches its query's limit, and no number, is found; of a query rows ascend") {
  std::mt19937 random(2);
  Matrix rows = Normals(random, 90, 20);
  const Matrix queries = Normals(random, 21, 20);
  rows.row(13)[19] = std::nanf("");
  rows.row(40)[0] = kInfinity;
  for (const InnerProductKernel* kernel : Kernels()) {
    const auto all = Find(*kernel, rows, queries, std::vector<float>(21, -kInfinity));
    std::vector<float> limits;
    for (int q = 0; q < 21; ++q) limits.push_back(static_cast<float>(q % 5) - 1);
    // One that is exactly one of the products.
    for (const Reached& r : all) {
      if (r.query == 3 && r.row == 50) limits[3] = r.product;
    }
    std::vector<Reached> expected;
    for (const Reached& r : all) {
      if (!(r.product < limits[r.query])) expected.push_back(r);
    }
    const auto found = Find(*kernel, rows, queries, limits);
    REQUIRE(found.size() == expected.size());
    std::vector<int> last(21, -1);
    int numberless = 0, equal = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      REQUIRE(found[i].row == expected[i].row);
      REQUIRE(found[i].query == expected[i].query);
      REQUIRE(found[i].row > last[found[i].query]);
      last[found[i].query] = found[i].row;
      numberless += std::isnan(found[i].product);
      equal += found[i].row == 50 && found[i].query == 3;
    }
    REQUIRE(numberless == 21);
    REQUIRE(equal == 1);
  }
}

// Each of the small products is lost where it is added to one, and none where they come first.
TEST_CASE("orders of summing differ by a good part of the error, and never by more") {
  for (const int64_t n : {2, 100, 1000}) {
    std::vector<float> numbers(n, 0x1p-13f);
    numbers[0] = 1;
    volatile float forward = 0, backward = 0;
    for (int64_t k = 0; k < n; ++k) forward = forward + numbers[k] * numbers[k];
    for (int64_t k = n; k-- > 0;) backward = backward + numbers[k] * numbers[k];
    const double length = LengthBound(numbers.data(), n);
    const double difference = std::fabs(double{forward} - backward);
    CHECK(difference <= InnerProductError(n, length, length));
    if (n > 2) CHECK(difference > 0.1 * InnerProductError(n, length, length));
  }
}

TEST_CASE("the error says where numbers are too small or too large for a bound of their own") {
  // The orders (big * big - big * big) + ... and big * big + ... - ... differ by all there is.
  CHECK(InnerProductError(4, 2e19, 2e19) == kInfinity);
  CHECK(InnerProductError(4, 1e19, 1e19) < 1e33f);
  CHECK(InnerProductError(4, kInfinity, 0) == kInfinity);
  CHECK(InnerProductError(4, kInfinity, 1) == kInfinity);
  CHECK(InnerProductError(int64_t{1} << 24, 1, 1) == kInfinity);
  // What is flushed to zero is lost whole.
  CHECK(InnerProductError(4, 1e-30, 1e-30) >= 8 * std::numeric_limits<float>::min());
  CHECK(InnerProductError(768, 1, 1) < 1e-4f);
  CHECK(InnerProductError(768, 1, 1) >= 2 * 768 * 0x1p-24f);
}

TEST_CASE("rows of denormals are multiplied as what they are") {
  std::mt19937 random(5);
  Matrix rows = Normals(random, 40, 33), queries = Normals(random, 5, 33);
  for (float& number : rows.values) number *= 1e-41f;
  for (float& number : queries.values) number *= 1e30f;
  for (const InnerProductKernel* kernel : Kernels()) {
    for (const Reached& r : Find(*kernel, rows, queries, std::vector<float>(5, -kInfinity))) {
      const float* const a = rows.row(r.row);
      const float* const b = queries.row(r.query);
      const double error = InnerProductError(33, LengthBound(a, 33), LengthBound(b, 33));
      REQUIRE(error < 1e-14);
      REQUIRE(r.product != 0);
      REQUIRE(std::fabs(r.product - TrueProduct(a, b, 33)) <= error / 2);
    }
  }
}

TEST_CASE("a length is bounded from above, and closely, whatever its size") {
  std::mt19937 random(4);
  for (const int64_t n : {1, 7, 8, 9, 100}) {
    for (const float scale : {1e-44f, 1e-25f, 1.0f, 1e30f}) {
      Matrix numbers = Normals(random, 1, n);
      long double squares = 0;
      for (float& x : numbers.values) {
        x *= scale;
        squares += static_cast<long double>(x) * x;
      }
      const long double length = std::sqrt(squares);
      REQUIRE(LengthBound(numbers.row(0), n) >= length);
      REQUIRE(LengthBound(numbers.row(0), n) <= length * 1.000001L);
    }
  }
  for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
    const float numbers[] = {1, bad, 2};
    CHECK(LengthBound(numbers, 3) == kInfinity);
  }
}

}  // namespace
}  // namespace sightline::kernels
