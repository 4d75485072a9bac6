#include "common/kernels/int8_rows.h"

#include <algorithm>
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
std::vector<const Int8RowKernel*> Kernels() {
  std::vector<const Int8RowKernel*> kernels = {&Int8RowKernelFor(CpuFeatures())};
  if (ThisCpu().avx512) {
    kernels.push_back(&Int8RowKernelFor(ThisCpu()));
  } else {
    std::cout << "skipped: this CPU has no AVX-512\n";
  }
  return kernels;
}

int64_t SumOf(const int16_t* query, const int8_t* row, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += int64_t{query[i]} * row[i];
  return sum;
}

TEST_CASE("every kernel sums exactly, one row and many") {
  std::mt19937 random(1);
  for (const Int8RowKernel* kernel : Kernels()) {
    for (const int64_t n : {32, 64, 96, 128, 480, 768, 4096}) {
      const int64_t stride = n + static_cast<int64_t>(random() % 70);
      constexpr int64_t kCount = 5;
      // As large as sums leave room for.
      const auto most = static_cast<int>(std::min<int64_t>(32767, (int64_t{1} << 31) / 128 / n));
      std::vector<int16_t> query(n);
      for (auto& x : query)
        x = static_cast<int16_t>(static_cast<int>(random() % (2 * most)) - most);
      std::vector<int8_t> rows(kCount * stride);
      for (auto& x : rows) x = static_cast<int8_t>(random());
      std::vector<int32_t> sums(kCount);
      kernel->products(query.data(), rows.data(), stride, kCount, n, sums.data());
      for (int64_t i = 0; i < kCount; ++i) {
        const int64_t sum = SumOf(query.data(), rows.data() + i * stride, n);
        REQUIRE(sums[i] == sum);
        REQUIRE(kernel->product(query.data(), rows.data() + i * stride, n) == sum);
      }
    }
  }
}

// Numbers of many shapes, by which a bound may be caught out.
std::vector<float> Numbers(int shape, int64_t n, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> numbers(n);
  for (float& x : numbers) x = normal(random);
  switch (shape) {
    case 0:
      break;
    case 1:  // all as large as the largest: the largest sums that there are
      for (float& x : numbers) x = 1;
      break;
    case 2:
      for (float& x : numbers) x = x < 0 ? -3e-3f : 3e-3f;
      break;
    case 3:  // one covers all others
      numbers[static_cast<size_t>(n / 2)] = 1e4f;
      break;
    case 4:  // halfway between steps
      for (float& x : numbers) x = (std::round(x * 20) + 0.5f) / 127;
      numbers[0] = 1;
      break;
    case 5:
      for (float& x : numbers) x *= 1e30f;
      break;
    case 6:
      for (float& x : numbers) x *= 1e-30f;
      break;
    case 7:  // below the normal numbers
      for (float& x : numbers) x *= 1e-41f;
      break;
    case 8:
      std::fill(numbers.begin(), numbers.end(), 0.0f);
      break;
    case 9:  // about as large as there is
      for (float& x : numbers) x = x < 0 ? -3e38f : 3e38f;
      break;
    default:  // all scales at once
      for (float& x : numbers) x = std::ldexp(x, static_cast<int>(random() % 80) - 60);
  }
  return numbers;
}
constexpr int kShapes = 11;

TEST_CASE("codes of a row, and what they are off by") {
  std::mt19937 random(2);
  for (const int64_t n : {1, 5, 31, 32, 33, 768, 4096}) {
    for (int shape = 0; shape < kShapes; ++shape) {
      INFO("shape " << shape << " of " << n);
      const std::vector<float> row = Numbers(shape, n, random);
      std::vector<int8_t> codes(Int8RowBytes(n), 99);
      const Int8RowScale scale = EncodeInt8Row(row.data(), n, codes.data());
      long double error = 0, length = 0;
      for (int64_t i = 0; i < n; ++i) {
        REQUIRE(codes[i] >= -127);
        const long double kept = static_cast<long double>(scale.scale) * codes[i];
        error += (row[i] - kept) * (row[i] - kept);
        length += kept * kept;
      }
      REQUIRE(std::all_of(codes.begin() + n, codes.end(), [](int8_t code) { return code == 0; }));
      REQUIRE(scale.error >= std::sqrt(error));
      REQUIRE(scale.length >= std::sqrt(length));
      // And no more than half a step of each number.
      if (scale.scale > 0 && std::isfinite(scale.error)) {
        REQUIRE(scale.error <= 0.501 * scale.scale * std::sqrt(static_cast<double>(n)));
      }
    }
  }
}

TEST_CASE("a row that is not finite has no codes, and nothing is known of it") {
  for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
    std::vector<float> row(40, 1);
    row[33] = bad;
    std::vector<int8_t> codes(64, 99);
    const Int8RowScale scale = EncodeInt8Row(row.data(), 40, codes.data());
    REQUIRE(scale.scale == 0);
    REQUIRE(scale.error == kInfinity);
    REQUIRE(scale.length == 0);
    REQUIRE(codes == std::vector<int8_t>(64, 0));
    const std::vector<float> one(40, 1);
    REQUIRE(Int8ProductError(Int16Query(one.data(), 40), scale) == kInfinity);
  }
}

TEST_CASE("a query that is not finite has no codes, and nothing is known of it") {
  for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
    std::vector<float> numbers(40, 1);
    numbers[33] = bad;
    const Int16Query query(numbers.data(), 40);
    REQUIRE(query.codes == std::vector<int16_t>(64, 0));
    REQUIRE(query.scale == 0);
    const std::vector<float> one(40, 1);
    std::vector<int8_t> codes(64);
    const Int8RowScale scale = EncodeInt8Row(one.data(), 40, codes.data());
    REQUIRE(Int8ProductError(query, scale) == kInfinity);
    // Nor of its product with nothing.
    REQUIRE(Int8ProductError(query, Int8RowScale()) == kInfinity);
  }
}

TEST_CASE("products are off by no more than is said, of whatever numbers") {
  std::mt19937 random(3);
  for (const int64_t n : {1, 33, 128, 768, 4096}) {
    for (int of_query = 0; of_query < kShapes; ++of_query) {
      for (int of_row = 0; of_row < kShapes; ++of_row) {
        INFO("shapes " << of_query << " and " << of_row << " of " << n);
        const std::vector<float> numbers = Numbers(of_query, n, random);
        const std::vector<float> row = Numbers(of_row, n, random);
        const Int16Query query(numbers.data(), n);
        std::vector<int8_t> codes(Int8RowBytes(n));
        const Int8RowScale scale = EncodeInt8Row(row.data(), n, codes.data());
        const int64_t sum = SumOf(query.codes.data(), codes.data(), Int8RowBytes(n));
        for (const Int8RowKernel* kernel : Kernels()) {
          REQUIRE(kernel->product(query.codes.data(), codes.data(), Int8RowBytes(n)) == sum);
        }
        const float error = Int8ProductError(query, scale);
        REQUIRE(error > 0);
        if (error == kInfinity) continue;
        const float product = Int8Product(query, scale, static_cast<int32_t>(sum));
        if (!std::isfinite(product)) continue;  // beyond floats, and seen to be
        long double truth = 0;
        for (int64_t i = 0; i < n; ++i) truth += static_cast<long double>(numbers[i]) * row[i];
        REQUIRE(std::fabs(product - truth) <= error);
      }
    }
  }
}

TEST_CASE("of embeddings the bound leaves enough to tell them apart") {
  std::mt19937 random(4);
  const std::vector<float> numbers = Numbers(0, 768, random), row = Numbers(0, 768, random);
  const Int16Query query(numbers.data(), 768);
  std::vector<int8_t> codes(768);
  const Int8RowScale scale = EncodeInt8Row(row.data(), 768, codes.data());
  REQUIRE(Int8ProductError(query, scale) < 0.01 * query.length * scale.length);
}

}  // namespace
}  // namespace sightline::kernels
