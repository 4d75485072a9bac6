#include "common/kernels/small_products.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/common/kernels/random_numbers.h"
#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

// A matrix by rows or by columns, within others' numbers.
struct Stored {
  std::vector<float> numbers;
  StridedMatrix matrix;

  Stored(int64_t rows, int64_t columns, bool turned, std::mt19937* generator) {
    const int64_t pitch = (turned ? rows : columns) + 3;
    numbers = Normal(pitch * (turned ? columns : rows), 1, generator);
    matrix =
        turned ? StridedMatrix{numbers.data(), 1, pitch} : StridedMatrix{numbers.data(), pitch, 1};
  }
  float At(int64_t i, int64_t j) const {
    return matrix.data[i * matrix.row_step + j * matrix.column_step];
  }
};

// As the header says: in the order of `inner`, by fused multiply-adds.
float Naive(const ProductShape& shape, const Stored& a, const Stored& b, int64_t i, int64_t j) {
  float sum = 0;
  for (int64_t k = 0; k < shape.inner; ++k) sum = std::fma(a.At(i, k), b.At(k, j), sum);
  return sum;
}

std::vector<float> Multiplied(const ProductShape& shape, const StridedMatrix& a,
                              const StridedMatrix& b, int64_t out_step, float around) {
  std::vector<float> work(SmallProductFloats(shape), std::numeric_limits<float>::quiet_NaN());
  std::vector<float> out(shape.rows * out_step, around);
  MultiplySmall(shape, a, b, work.data(), out.data(), out_step);
  return out;
}

TEST_CASE("products of matrices of all sizes and layouts are the naive ones to the bit") {
  std::mt19937 generator(3);
  constexpr float kAround = 77;
  for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 12, 29}) {
    for (const int64_t inner : {1, 2, 9, 48}) {
      for (const int64_t columns : {1, 7, 8, 9, 15, 16, 17, 31, 48}) {
        for (const int layout : {0, 1, 2, 3}) {
          const ProductShape shape = {rows, inner, columns};
          const Stored a(rows, inner, layout % 2 == 1, &generator);
          const Stored b(inner, columns, layout / 2 == 1, &generator);
          const int64_t out_step = columns + 2;
          const std::vector<float> out = Multiplied(shape, a.matrix, b.matrix, out_step, kAround);
          int64_t wrong = 0;
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < out_step; ++j) {
              const float want = j < columns ? Naive(shape, a, b, i, j) : kAround;
              if (out[i * out_step + j] != want) ++wrong;
            }
          }
          CAPTURE(rows, inner, columns, layout);
          REQUIRE(wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("a number that is none spoils its row or column and no other") {
  std::mt19937 generator(4);
  const ProductShape shape = {8, 5, 19};
  Stored a(shape.rows, shape.inner, false, &generator);
  Stored b(shape.inner, shape.columns, false, &generator);
  a.numbers[2 * a.matrix.row_step + 1] = std::numeric_limits<float>::quiet_NaN();
  b.numbers[4 * b.matrix.row_step + 17] = std::numeric_limits<float>::infinity();
  const std::vector<float> out = Multiplied(shape, a.matrix, b.matrix, shape.columns, 0);
  for (int64_t i = 0; i < shape.rows; ++i) {
    for (int64_t j = 0; j < shape.columns; ++j) {
      CAPTURE(i, j);
      REQUIRE(std::isfinite(out[i * shape.columns + j]) == (i != 2 && j != 17));
    }
  }
}

TEST_CASE("a matrix whose numbers are one number is multiplied where it lies") {
  std::mt19937 generator(5);
  const ProductShape shape = {3, 4, 10};
  const float one = 1;
  const StridedMatrix ones = {&one, 0, 0};
  const Stored b(shape.inner, shape.columns, false, &generator);
  const std::vector<float> out = Multiplied(shape, ones, b.matrix, shape.columns, 0);
  for (int64_t j = 0; j < shape.columns; ++j) {
    float sum = 0;
    for (int64_t k = 0; k < shape.inner; ++k) sum += b.At(k, j);
    for (int64_t i = 0; i < shape.rows; ++i) REQUIRE(out[i * shape.columns + j] == sum);
  }
}

}  // namespace
}  // namespace sightline::kernels
