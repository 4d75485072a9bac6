#include "common/training/row_batches.h"

#include <algorithm>
#include <set>
#include <vector>

#include "common/training/random.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// 1 to 60 rows each.
std::vector<int64_t> Lengths(int64_t count) {
  Random random(5);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < count; ++i) lengths.push_back(1 + random.Below(60));
  return lengths;
}

TEST_CASE("an epoch shows each item once, in batches that fit, longest item times number") {
  const std::vector<int64_t> lengths = Lengths(500);
  constexpr int64_t kRows = 400;
  RowBatches batches(lengths, kRows, 1);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<int64_t> shown;
    for (int64_t i = 0; i < batches.epoch_size(); ++i) {
      const std::vector<int64_t> batch = batches.Batch(epoch * batches.epoch_size() + i);
      REQUIRE_FALSE(batch.empty());
      int64_t longest = 0, least = kRows;
      for (const int64_t item : batch) {
        longest = std::max(longest, lengths[item]);
        least = std::min(least, lengths[item]);
        REQUIRE(shown.insert(item).second);
      }
      REQUIRE(longest * static_cast<int64_t>(batch.size()) <= kRows);
    }
    REQUIRE(shown.size() == lengths.size());
  }
}

TEST_CASE("little is padding, and batches are as large as they may") {
  const std::vector<int64_t> lengths = Lengths(5000);
  constexpr int64_t kRows = 400;
  RowBatches batches(lengths, kRows, 1);
  int64_t rows = 0;
  for (const int64_t length : lengths) rows += length;
  // Padding to multiples of 8, some 3.5 of 30.5 rows, and what does not fill a batch.
  REQUIRE(batches.epoch_size() * kRows < rows * 5 / 4);
}

TEST_CASE("a batch is a function of seed and number, whoever asks and in whichever order") {
  const std::vector<int64_t> lengths = Lengths(300);
  RowBatches forwards(lengths, 300, 7), backwards(lengths, 300, 7), other(lengths, 300, 8);
  std::vector<std::vector<int64_t>> expected;
  const int64_t count = 3 * forwards.epoch_size();
  for (int64_t i = 0; i < count; ++i) expected.push_back(forwards.Batch(i));
  bool differs = false;
  for (int64_t i = count - 1; i >= 0; --i) {
    REQUIRE(backwards.Batch(i) == expected[i]);
    differs = differs || other.Batch(i) != expected[i];
  }
  REQUIRE(differs);
}

TEST_CASE("epochs differ in their batches, not only in their order") {
  RowBatches batches(std::vector<int64_t>(64, 10), 160, 1);
  std::set<std::vector<int64_t>> first, second;
  for (int64_t i = 0; i < batches.epoch_size(); ++i) {
    std::vector<int64_t> of_first = batches.Batch(i);
    std::vector<int64_t> of_second = batches.Batch(batches.epoch_size() + i);
    std::sort(of_first.begin(), of_first.end());
    std::sort(of_second.begin(), of_second.end());
    first.insert(of_first);
    second.insert(of_second);
  }
  REQUIRE(first != second);
}

TEST_CASE("an item that is longer than a batch is one by itself") {
  RowBatches batches({500, 3, 4, 2}, 16, 1);
  REQUIRE(batches.epoch_size() == 3);
  std::multiset<size_t> sizes;
  for (int64_t i = 0; i < 3; ++i) {
    const std::vector<int64_t> batch = batches.Batch(i);
    sizes.insert(batch.size());
    if (batch == std::vector<int64_t>{0}) continue;
    REQUIRE(std::count(batch.begin(), batch.end(), 0) == 0);
  }
  REQUIRE(sizes == std::multiset<size_t>{1, 1, 2});
}

}  // namespace
}  // namespace sightline
