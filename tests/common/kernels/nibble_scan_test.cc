#include "common/kernels/nibble_scan.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <vector>

#include "tests/common/kernels/random_numbers.h"
#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// All that this CPU has.
std::vector<const NibbleScanKernel*> Kernels() {
  std::vector<const NibbleScanKernel*> kernels = {&NibbleScanKernelFor(CpuFeatures())};
  if (ThisCpu().avx512) {
    kernels.push_back(&NibbleScanKernelFor(ThisCpu()));
  } else {
    std::cout << "skipped: this CPU has no AVX-512\n";
  }
  return kernels;
}

// Rows of groups, as plain as they can be.
struct Codes {
  Codes(std::mt19937* random, int64_t row_count, int64_t groups_of_row, bool with_scalars)
      : rows(row_count),
        group_count(groups_of_row),
        scalars(with_scalars),
        stride(NibbleBlockBytes(group_count, scalars)),
        groups(rows * group_count),
        slopes(Normal(rows, 1, random)),
        offsets(Normal(rows, 1, random)),
        blocks(NibbleBlocks(rows) * stride) {
    for (uint8_t& group : groups) group = (*random)() % 16;
    for (int64_t row = 0; row < rows; ++row) {
      uint8_t* const block = blocks.data() + row / kNibbleBlockRows * stride;
      StoreNibbles(groups.data() + row * group_count, group_count, row % kNibbleBlockRows, block);
      if (!scalars) continue;
      StoreNibbleScalars(slopes[row], offsets[row], group_count, row % kNibbleBlockRows, block);
    }
  }

  int64_t rows;
  int64_t group_count;
  bool scalars;
  int64_t stride;
  std::vector<uint8_t> groups;
  std::vector<float> slopes, offsets;
  std::vector<uint8_t> blocks;
};

double TrueEstimate(const Codes& codes, const std::vector<float>& values, float base, int64_t row) {
  double sum = 0;
  for (int64_t group = 0; group < codes.group_count; ++group) {
    sum += values[group * 16 + codes.groups[row * codes.group_count + group]];
  }
  if (!codes.scalars) return base + sum;
  return base + codes.offsets[row] + codes.slopes[row] * sum;
}

// Half a step of each group, and what rounding to float adds.
double MostError(const Codes& codes, const std::vector<float>& values, int64_t row) {
  double range = 0;
  for (int64_t group = 0; group < codes.group_count; ++group) {
    const auto [low, high] =
        std::minmax_element(values.begin() + group * 16, values.begin() + (group + 1) * 16);
    range = std::max(range, double{*high} - *low);
  }
  const double of_sum = codes.group_count * (range / 127 / 2 + 1e-5 * range) + 1e-4;
  return codes.scalars ? std::fabs(codes.slopes[row]) * of_sum + 1e-5 : of_sum;
}

TEST_CASE("every row of every shape is estimated within half a step a group, on every CPU alike") {
  std::mt19937 random(1);
  for (const int64_t group_count : {1, 2, 3, 4, 5, 7, 8, 63, 192, 511, 512, 513, 520, 1024}) {
    for (const int64_t rows : {1, 15, 16, 17, 31, 32, 33, 100}) {
      const bool scalars = random() % 2 == 0;
      const Codes codes(&random, rows, group_count, scalars);
      const std::vector<float> values = Normal(group_count * 16, 1, &random);
      const NibbleTables tables(values.data(), group_count);
      NibbleScan scan = tables.Scan();
      scan.blocks = codes.blocks.data();
      scan.block_count = NibbleBlocks(rows);
      scan.scalars = scalars;
      scan.base = 0.25f;
      scan.limit = -kInfinity;
      REQUIRE(scan.chunk_count == NibbleChunks(group_count));
      std::vector<float> first;
      for (const NibbleScanKernel* kernel : Kernels()) {
        std::vector<uint32_t> masks(scan.block_count, ~0u);
        std::vector<float> estimates(scan.block_count * kNibbleBlockRows);
        kernel->scan(scan, masks.data(), estimates.data());
        for (int64_t row = 0; row < rows; ++row) {
          REQUIRE((masks[row / 32] >> row % 32 & 1) == 1);
          REQUIRE(std::fabs(estimates[row] - TrueEstimate(codes, values, scan.base, row)) <=
                  MostError(codes, values, row));
        }
        if (first.empty()) first = estimates;
        REQUIRE(estimates == first);
      }
    }
  }
}

TEST_CASE("the largest numbers of the longest codes are summed without being cut off") {
  std::mt19937 random(2);
  for (const int64_t group_count : {512, 516, 1024, 4096}) {
    Codes codes(&random, 32, group_count, false);
    std::vector<float> values(group_count * 16, 127.0f);
    for (int64_t group = 0; group < group_count; ++group) values[group * 16] = 0;
    std::fill(codes.blocks.begin(), codes.blocks.end(), uint8_t{0xFF});
    const NibbleTables tables(values.data(), group_count);
    NibbleScan scan = tables.Scan();
    scan.blocks = codes.blocks.data();
    scan.block_count = 1;
    scan.limit = -kInfinity;
    for (const NibbleScanKernel* kernel : Kernels()) {
      uint32_t mask = ~0u;
      std::vector<float> estimates(32);
      kernel->scan(scan, &mask, estimates.data());
      for (const float estimate : estimates) REQUIRE(estimate == 127.0f * group_count);
    }
  }
}

TEST_CASE(
    "only rows that are wanted and reach the limit are told; blocks without any are skipped") {
  std::mt19937 random(3);
  const Codes codes(&random, 320, 24, true);
  const std::vector<float> values = Normal(24 * 16, 1, &random);
  const NibbleTables tables(values.data(), 24);
  NibbleScan scan = tables.Scan();
  scan.blocks = codes.blocks.data();
  scan.block_count = 10;
  scan.scalars = true;
  scan.limit = -kInfinity;
  for (const NibbleScanKernel* kernel : Kernels()) {
    std::vector<uint32_t> all(10, ~0u);
    std::vector<float> estimates(320);
    kernel->scan(scan, all.data(), estimates.data());
    // That of one of the rows, which reaches it itself.
    NibbleScan limited = scan;
    limited.limit = estimates[77];
    std::vector<uint32_t> wanted(10);
    for (uint32_t& mask : wanted) mask = random() & random();
    wanted[2] |= 1u << 13;
    wanted[4] = 0;
    std::vector<uint32_t> masks = wanted;
    const float untouched = 12345;
    std::vector<float> found(320, untouched);
    kernel->scan(limited, masks.data(), found.data());
    for (int64_t row = 0; row < 320; ++row) {
      const bool is_wanted = (wanted[row / 32] >> row % 32 & 1) == 1;
      const bool told = (masks[row / 32] >> row % 32 & 1) == 1;
      REQUIRE(told == (is_wanted && estimates[row] >= limited.limit));
      if (told) REQUIRE(found[row] == estimates[row]);
      if (row / 32 == 4) REQUIRE(found[row] == untouched);
    }
    REQUIRE((masks[2] >> 13 & 1) == 1);
  }
}

TEST_CASE("a row whose scalars make no number is never told") {
  std::mt19937 random(4);
  Codes codes(&random, 32, 8, true);
  const std::vector<float> values = Normal(8 * 16, 1, &random);
  StoreNibbleScalars(std::nanf(""), 0, 8, 3, codes.blocks.data());
  const NibbleTables tables(values.data(), 8);
  NibbleScan scan = tables.Scan();
  scan.blocks = codes.blocks.data();
  scan.block_count = 1;
  scan.scalars = true;
  scan.limit = -kInfinity;
  for (const NibbleScanKernel* kernel : Kernels()) {
    uint32_t mask = ~0u;
    std::vector<float> estimates(32);
    kernel->scan(scan, &mask, estimates.data());
    REQUIRE(mask == ~(1u << 3));
  }
}

TEST_CASE("tables without a range count nothing") {
  const std::vector<float> values(4 * 16, 0.5f);
  const NibbleTables tables(values.data(), 4);
  const NibbleScan scan = tables.Scan();
  REQUIRE(scan.step == 0);
  REQUIRE(scan.bias == 2);
}

}  // namespace
}  // namespace sightline::kernels
