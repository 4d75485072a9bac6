#include "common/index/block_lengths.h"

#include <cmath>
#include <limits>
#include <vector>

#include "common/kernels/inner_product_kernels.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("blocks cover the rows, are no larger than a kernel takes, and fit the L2 cache") {
  for (const int64_t stride : {1, 16, 768, 1 << 16, 1 << 20}) {
    for (const int64_t rows : {0, 1, 95, 96, 97, 5000}) {
      const BlockLengths lengths({nullptr, rows, 1, stride});
      REQUIRE(lengths.block_rows() >= 1);
      REQUIRE(lengths.block_rows() <= kernels::kMostProductRows);
      REQUIRE((lengths.block_rows() == 1 || lengths.block_rows() * stride * 4 <= 256 << 10));
      REQUIRE(lengths.block_count() * lengths.block_rows() >= rows);
      REQUIRE((lengths.block_count() - 1) * lengths.block_rows() < rows);
    }
  }
}

TEST_CASE("the longest row of each block, without what lies between rows") {
  constexpr int64_t kRows = 200, kStride = 3;
  std::vector<float> values(kRows * kStride, std::nanf(""));
  for (int64_t row = 0; row < kRows; ++row) {
    values[row * kStride] = 3.0f * static_cast<float>(row + 1);
    values[row * kStride + 1] = 4.0f * static_cast<float>(row + 1);
  }
  values[(kRows - 1) * kStride] = std::numeric_limits<float>::infinity();
  const BlockLengths lengths({values.data(), kRows, 2, kStride});
  for (int round = 0; round < 2; ++round) {
    for (int64_t block = 0; block + 1 < lengths.block_count(); ++block) {
      const auto last = static_cast<double>((block + 1) * lengths.block_rows());
      REQUIRE(lengths.Longest(block) >= 5 * last);
      REQUIRE(lengths.Longest(block) <= 5.00001 * last);
    }
    REQUIRE(std::isinf(lengths.Longest(lengths.block_count() - 1)));
  }
}

TEST_CASE("a length beyond what a float holds is infinite") {
  const std::vector<float> values = {3e38f, 3e38f, 0, 0};
  CHECK(std::isinf(BlockLengths({values.data(), 2, 2, 2}).Longest(0)));
  const std::vector<float> zeros(4);
  const float none = BlockLengths({zeros.data(), 2, 2, 2}).Longest(0);
  CHECK(none >= 0);
  CHECK(none < 1e-40f);
}

}  // namespace
}  // namespace sightline
