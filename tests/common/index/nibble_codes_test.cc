#include "common/index/nibble_codes.h"

#include <cmath>
#include <random>
#include <vector>

#include "common/kernels/random_rotation.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

std::vector<float> Normals(std::mt19937& random, int64_t count, double deviation = 1) {
  std::normal_distribution<float> normal(0, static_cast<float>(deviation));
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(random);
  return numbers;
}

double Product(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

// q . c + offset + slope (q . s), of the code's s.
double EstimateOf(const std::vector<float>& query, const std::vector<float>& centroid,
                  const std::vector<float>& code, const NibbleScalars& scalars) {
  return Product(query, centroid) + scalars.offset + scalars.slope * Product(query, code);
}

std::vector<float> SignsOf(const std::vector<uint8_t>& groups) {
  std::vector<float> signs;
  for (const uint8_t group : groups) {
    for (int j = 0; j < 4; ++j) signs.push_back((group >> j & 1) != 0 ? 1.0f : -1.0f);
  }
  return signs;
}

std::vector<float> PartsOf(const std::vector<uint8_t>& groups, const IvfShape& shape,
                           const std::vector<float>& codebooks) {
  std::vector<float> parts(shape.dimension);
  for (int64_t p = 0; p < shape.parts; ++p) {
    for (int64_t j = shape.PartBegin(p); j < shape.PartBegin(p + 1); ++j) {
      parts[j] = codebooks[j * 16 + groups[p]];
    }
  }
  return parts;
}

TEST_CASE("tables have the product of each code with the query") {
  std::mt19937 random(1);
  const std::vector<float> query = Normals(random, 64);
  std::vector<float> values(16 * 16);
  TablesOfBits(query.data(), 64, 1, values.data());
  for (uint8_t code = 0; code < 16; ++code) {
    const std::vector<float> signs = SignsOf(std::vector<uint8_t>(16, code));
    for (int64_t group = 0; group < 16; ++group) {
      double product = 0;
      for (int64_t j = 4 * group; j < 4 * group + 4; ++j) product += signs[j] * query[j];
      REQUIRE(std::fabs(values[group * 16 + code] - product) < 1e-5);
    }
  }
  IvfShape shape;
  shape.dimension = 50;
  shape.parts = 7;
  const std::vector<float> codebooks = Normals(random, 50 * 16);
  std::vector<float> of_parts(7 * 16);
  TablesOfParts(query.data(), shape, codebooks.data(), of_parts.data());
  for (uint8_t code = 0; code < 16; ++code) {
    const std::vector<float> decoded = PartsOf(std::vector<uint8_t>(7, code), shape, codebooks);
    for (int64_t p = 0; p < 7; ++p) {
      double product = 0;
      for (int64_t j = shape.PartBegin(p); j < shape.PartBegin(p + 1); ++j) {
        product += decoded[j] * query[j];
      }
      REQUIRE(std::fabs(of_parts[p * 16 + code] - product) < 1e-4);
    }
  }
}

TEST_CASE("a part's code is that of the nearest of its centroids") {
  std::mt19937 random(2);
  IvfShape shape;
  shape.dimension = 23;
  shape.parts = 5;
  const std::vector<float> codebooks = Normals(random, 23 * 16);
  for (int round = 0; round < 50; ++round) {
    const std::vector<float> row = Normals(random, 23), centroid = Normals(random, 23);
    std::vector<uint8_t> groups(5);
    EncodeParts(row.data(), centroid.data(), shape, codebooks.data(), groups.data());
    for (int64_t p = 0; p < 5; ++p) {
      double nearest = 1e30, chosen = 0;
      for (int code = 0; code < 16; ++code) {
        double distance = 0;
        for (int64_t j = shape.PartBegin(p); j < shape.PartBegin(p + 1); ++j) {
          distance += std::pow(row[j] - centroid[j] - codebooks[j * 16 + code], 2);
        }
        nearest = std::min(nearest, distance);
        if (code == groups[p]) chosen = distance;
      }
      REQUIRE(chosen <= nearest + 1e-4);
    }
  }
}

TEST_CASE("an estimate is right for the row's own direction, and on average for all") {
  std::mt19937 random(3);
  constexpr int64_t kDimension = 256;
  const kernels::RandomRotation rotation(kDimension, 4);
  double sum = 0, squares = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<float> row = Normals(random, kDimension, 1.0 / 16);
    const std::vector<float> centroid = Normals(random, kDimension, 0.5 / 16);
    std::vector<float> turned_row(kDimension), turned_centroid(kDimension);
    rotation.Rotate(row.data(), turned_row.data());
    rotation.Rotate(centroid.data(), turned_centroid.data());
    std::vector<uint8_t> groups(kDimension / 4);
    const NibbleScalars scalars =
        EncodeBits(ProductsOf(row.data(), centroid.data(), kDimension), turned_row.data(),
                   turned_centroid.data(), kDimension, 1, groups.data());
    const std::vector<float> signs = SignsOf(groups);
    // Centroid and row themselves are estimated as they are.
    REQUIRE(std::fabs(EstimateOf(turned_centroid, turned_centroid, signs, scalars) -
                      Product(turned_centroid, turned_row)) < 1e-4);
    REQUIRE(std::fabs(EstimateOf(turned_row, turned_centroid, signs, scalars) -
                      Product(turned_row, turned_row)) < 1e-4);
    const std::vector<float> query = Normals(random, kDimension, 1.0 / 16);
    std::vector<float> turned(kDimension);
    rotation.Rotate(query.data(), turned.data());
    const double error =
        EstimateOf(turned, turned_centroid, signs, scalars) - Product(turned, turned_row);
    sum += error;
    squares += error * error;
  }
  // |q - c| |r| sqrt(pi / 2 - 1) / sqrt(d), both lengths being sqrt(1.25).
  const double expected = 1.25 * 0.7555 / 16;
  const double deviation = std::sqrt(squares / kRounds);
  REQUIRE(deviation > 0.85 * expected);
  REQUIRE(deviation < 1.15 * expected);
  REQUIRE(std::fabs(sum / kRounds) < 4 * deviation / std::sqrt(kRounds));
}

TEST_CASE("a row that is its centroid has no slope, and one whose sums overflow comes last") {
  const std::vector<float> row(64, 0.5f);
  std::vector<uint8_t> groups(16);
  const NibbleScalars same = EncodeBits(ProductsOf(row.data(), row.data(), 64), row.data(),
                                        row.data(), 64, 1, groups.data());
  REQUIRE(same.slope == 0);
  REQUIRE(same.offset == 0);
  const std::vector<float> huge(64, 1e30f), zero(64);
  const NibbleScalars last = EncodeBits(ProductsOf(huge.data(), zero.data(), 64), huge.data(),
                                        zero.data(), 64, 1, groups.data());
  REQUIRE(last.slope == kLastOfAll.slope);
  REQUIRE(last.offset == kLastOfAll.offset);
}

}  // namespace
}  // namespace sightline
