#include "common/index/row_rounder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/float16.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

struct Rounded {
  std::vector<std::vector<float>> rows;  // as the device has them
  RowRounding rounding;
};

Rounded Round(const std::vector<std::vector<float>>& rows, Dtype dtype) {
  const DeviceLayout layout(static_cast<int>(rows.front().size()));
  RowRounder rounder(dtype, layout);
  Rounded rounded;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<uint16_t> halves(layout.numbers, 1);
    rounder.Round(static_cast<int64_t>(i), rows[i].data(), halves.data());
    std::vector<float> numbers(layout.numbers);
    Float16ToFloat32(reinterpret_cast<const char*>(halves.data()), numbers.size(), numbers.data());
    rounded.rows.push_back(numbers);
  }
  auto rounding = std::move(rounder).Rounding(static_cast<int64_t>(rows.size()));
  REQUIRE(rounding.ok());
  rounded.rounding = *std::move(rounding);
  return rounded;
}

TEST_CASE("the most that a row has lost and the longest are told, whichever row it is") {
  // What is halfway between two numbers of float16 loses half a unit.
  const std::vector<std::vector<float>> rows = {
      {1, 0}, {1 + 0x1p-11f, 1 + 0x1p-11f}, {0, 3}, {4, 0}, {0.5f, 0}};
  const RowRounding rounding = Round(rows, Dtype::kFloat32).rounding;
  CHECK(rounding.outliers.empty());
  CHECK(rounding.longest >= 4);
  CHECK(rounding.longest <= 4.00001f);
  CHECK(rounding.most_error >= std::sqrt(2.0f) * 0x1p-11f);
  CHECK(rounding.most_error <= std::sqrt(2.0f) * 0x1p-11f * 1.00001f);
}

TEST_CASE("of rows of float16 nothing is lost, whatever they hold") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> rows = {{1, 2}, {infinity, 0}, {std::nanf(""), 1}};
  const Rounded rounded = Round(rows, Dtype::kFloat16);
  CHECK(rounded.rounding.outliers.empty());
  CHECK(rounded.rounding.most_error == 0);
  // Of so few numbers all are the tail.
  CHECK(rounded.rows[1][0] == infinity);
  CHECK(std::isnan(rounded.rows[2][0]));
}

TEST_CASE("a row that float16 has not is an outlier, and no number on the device") {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<std::vector<float>> rows(5, std::vector<float>(300, 1.0f));
  rows[1][299] = 65520;  // the least that rounds to infinity
  rows[2][0] = infinity;
  rows[3][40] = std::nanf("");
  rows[4][7] = 65519;
  const Rounded rounded = Round(rows, Dtype::kFloat32);
  CHECK(rounded.rounding.outliers == std::vector<int64_t>{1, 2, 3});
  for (const int row : {1, 2, 3}) {
    CHECK(std::count_if(rounded.rows[row].begin(), rounded.rows[row].end(),
                        [](float number) { return std::isnan(number); }) == 300);
  }
  CHECK(std::isfinite(rounded.rounding.most_error));
}

TEST_CASE("lanes have every 32nd number of a row side by side, and what is left lies behind") {
  const DeviceLayout layout(8 * 32 + 32 + 11);
  CHECK(layout.groups == 2);
  CHECK(layout.eights == 1);
  CHECK(layout.rest == 3);
  CHECK(layout.numbers == 512 + 32);
  std::vector<uint16_t> halves(layout.dimension);
  std::vector<float> floats(layout.dimension);
  for (int i = 0; i < layout.dimension; ++i) floats[i] = halves[i] = static_cast<uint16_t>(i + 1);
  std::vector<uint16_t> row(layout.numbers, 9);
  std::vector<float> query(layout.numbers, 9);
  layout.ArrangeRow(halves.data(), row.data());
  layout.ArrangeQuery(floats.data(), query.data());
  for (int lane = 0; lane < 32; ++lane) {
    for (int block = 0; block < 8; ++block) {
      const int of_query = block / 4 * 128 + lane * 4 + block % 4;
      REQUIRE(row[lane * 8 + block] == block * 32 + lane + 1);
      REQUIRE(query[of_query] == block * 32 + lane + 1);
      REQUIRE(row[256 + lane * 8 + block] == (block == 0 ? 256 + lane + 1 : 0));
      REQUIRE(query[256 + of_query] == (block == 0 ? 256 + lane + 1 : 0));
    }
  }
  for (int i = 0; i < 32; ++i) {
    REQUIRE(row[512 + i] == (i < 11 ? 288 + i + 1 : 0));
    REQUIRE(query[512 + i] == (i < 11 ? 288 + i + 1 : 0));
  }
}

}  // namespace
}  // namespace sightline
