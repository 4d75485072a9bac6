// The scan of a device, run on the host block by block, over rows of float16: rows, order and bits
// have to be the CPU's.
#include "common/index/device_flat_scan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/call_context.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/device/host_device.h"
#include "common/index/device_scan_memory.h"
#include "common/index/row_scores.h"
#include "tests/common/index/device_rig.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rows whose scores with a query of ones ascend with the row but for every `low`-th, from the first
// on, which is worse than all others.
EmbeddingMatrix Stairs(int64_t rows, int dimension, int64_t low) {
  EmbeddingMatrix values(rows, dimension);
  for (int64_t i = 0; i < rows; ++i) {
    // Of float16 there are 1 024 numbers from one power of two to the next; the second number goes
    // on where the first cannot.
    const int64_t step = i / 1024;
    values.mutable_row(i)[0] = i % low == 0 ? -1 : static_cast<float>(step);
    values.mutable_row(i)[1] = i % low == 0 ? 0 : static_cast<float>(i % 1024) / 1024;
  }
  return values;
}

TEST_CASE("a device finds what the CPU finds, to the bit, whatever the dimension") {
  for (const int dimension : {1, 7, 8, 9, 31, 32, 33, 47, 96, 255, 256, 257, 511, 768}) {
    CAPTURE(dimension);
    const EmbeddingMatrix values = ClusteredRows(203, dimension, 1);
    const GappedRows rows(values, Dtype::kFloat16);
    const auto index = Load(rows.view());
    for (const int64_t queries : {1, 3, 8, 9, 20}) {
      CheckSame(*index, rows.view(), QueriesNear(values, queries, 2), 10);
    }
  }
}

TEST_CASE("a device finds all there is, and not more") {
  const EmbeddingMatrix values = ClusteredRows(70, 40, 3);
  const EmbeddingMatrix queries = QueriesNear(values, 5, 4);
  for (const int64_t count : {0, 1, 2, 3, 4, 5, 31, 33, 70}) {
    CAPTURE(count);
    EmbeddingMatrix some(count, 40);
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(values.row(i).data(), 40, some.mutable_row(i).data());
    }
    const GappedRows rows(some, Dtype::kFloat16);
    const auto index = Load(rows.view());
    for (const int top_k : {1, 2, 33, 70, limits::kMaxNeighbors}) {
      CheckSame(*index, rows.view(), queries, top_k);
    }
  }
}

TEST_CASE("equal scores come by row on a device, however many there are") {
  EmbeddingMatrix values(20000, 8);
  for (int64_t i = 0; i < values.rows(); ++i) values.mutable_row(i)[0] = i % 3 == 0 ? 1.0f : -1.0f;
  const GappedRows rows(values, Dtype::kFloat16);
  CheckSame(*Load(rows.view()), rows.view(), Ones(2, 8), 100);
  // The last of the best and the next one differ in the last bit of their keys.
  const GappedRows ones(Ones(20000, 8), Dtype::kFloat16);
  const auto index = Load(ones.view());
  for (const int top_k : {100, 101}) CheckSame(*index, ones.view(), Ones(2, 8), top_k);
}

TEST_CASE(
    "numbers that are none, infinite, tiny or huge are to a device what they are to the CPU") {
  EmbeddingMatrix values = ClusteredRows(300, 40, 5);
  values.mutable_row(3)[0] = std::nanf("");
  values.mutable_row(4)[39] = std::nanf("");
  values.mutable_row(5)[7] = kInfinity;
  values.mutable_row(6)[8] = -kInfinity;
  values.mutable_row(7)[33] = kInfinity;
  values.mutable_row(7)[34] = -kInfinity;
  for (float& number : values.mutable_row(8)) number = 0x1p-24f;  // the least of float16
  for (float& number : values.mutable_row(9)) number = 65504;
  for (float& number : values.mutable_row(10)) number = -65504;
  for (float& number : values.mutable_row(11)) number = 0;
  const GappedRows rows(values, Dtype::kFloat16);
  EmbeddingMatrix queries = QueriesNear(values, 6, 6);
  for (float& number : queries.mutable_row(0)) number = 3e38f;  // overflows
  for (float& number : queries.mutable_row(1)) number = -1e-45f;
  for (float& number : queries.mutable_row(2)) number = 1e-42f;
  std::fill_n(queries.mutable_row(3).data(), 40, 0.0f);
  for (int64_t i = 0; i < queries.rows(); ++i) {
    for (float& number : queries.mutable_row(i)) {
      if (std::isnan(number) || std::isinf(number)) number = 1;
    }
  }
  const auto index = Load(rows.view());
  for (const int top_k : {5, 299, 300}) CheckSame(*index, rows.view(), queries, top_k);
}

TEST_CASE("rows in any order are found on a device, also where a sample shows none of the best") {
  constexpr int64_t kCount = 3 * HostScan::kCapacity + 1000;
  for (const int64_t low : {kCount, int64_t{3}}) {
    CAPTURE(low);
    const GappedRows rows(Stairs(kCount, 2, low), Dtype::kFloat16);
    HostDevice device;
    const auto index = LoadOn(device, rows.view());
    CheckSame(*index, rows.view(), Ones(1, 2), 20);
    CheckSame(*index, rows.view(), Ones(3, 2), 20);
    // A sample and one chunk, a scan and a selection each.  Where every third row is sampled, and
    // these are the worst, keys are lost, and four chunks are as short as makes that impossible.
    CHECK(device.launches() == 2 * (low == 3 ? 4 + 2 + 2 * 4 : 4));
  }
}

TEST_CASE("a device finds among some rows only") {
  const EmbeddingMatrix values = ClusteredRows(2000, 33, 7);
  const GappedRows rows(values, Dtype::kFloat16);
  const EmbeddingMatrix queries = QueriesNear(values, 9, 8);
  const auto index = Load(rows.view());
  for (const int every : {1, 2, 7, 100, 1999}) {
    CAPTURE(every);
    std::vector<int64_t> some;
    for (int64_t row = every / 2; row < 2000; row += every) some.push_back(row);
    for (const RowSet& among : {ListOf(some, 2000), BitsOf(some, 2000)}) {
      for (const int top_k : {1, 10, 500}) {
        CheckSame(*index, rows.view(), queries, top_k, &among);
      }
    }
  }
  const RowSet none = RowSet::OfRows({}, 2000);
  CheckSame(*index, rows.view(), queries, 10, &none);
  // The next search is of all rows again.
  CheckSame(*index, rows.view(), queries, 10);
}

TEST_CASE("what a filter lets through may be nothing that a device samples") {
  constexpr int64_t kCount = 2 * HostScan::kCapacity + 1500;
  const GappedRows rows(Stairs(kCount, 2, kCount), Dtype::kFloat16);
  std::vector<int64_t> odd, many;
  for (int64_t row = 1; row < kCount; row += 2) odd.push_back(row);
  for (int64_t row = 0; row < kCount; row += row % 50 == 0 ? 2 : 1) many.push_back(row);
  HostDevice device;
  const auto index = LoadOn(device, rows.view());
  for (const std::vector<int64_t>& some : {odd, many}) {
    const RowSet among = BitsOf(some, kCount);
    CheckSame(*index, rows.view(), Ones(2, 2), 50, &among);
  }
  // The odd ones are more than are kept.
  CHECK(odd.size() > HostScan::kCapacity);
  CHECK(device.launches() > 2 * 4);
}

TEST_CASE("a device finds among a long list of rows") {
  constexpr int64_t kCount = 600000;
  EmbeddingMatrix values(kCount, 1);
  std::vector<int64_t> some;
  for (int64_t row = 0; row < kCount; ++row) {
    values.mutable_row(row)[0] = static_cast<float>(row * 7919 % 2039);
    if (row % 33 == 0) some.push_back(row);
  }
  CHECK(some.size() > HostScan::kCapacity);
  const GappedRows rows(values, Dtype::kFloat16);
  const RowSet among = ListOf(some, kCount);
  CheckSame(*Load(rows.view()), rows.view(), Ones(2, 1), 40, &among);
}

TEST_CASE("what rounds to -0 is 0 on a device and on the CPU") {
  for (const int dimension : {1, 7, 33, 257}) {
    CAPTURE(dimension);
    EmbeddingMatrix values(3, dimension);
    for (float& number : values.mutable_row(1)) number = 0x1p-24f;
    for (float& number : values.mutable_row(2)) number = -0x1p-24f;
    const GappedRows rows(values, Dtype::kFloat16);
    EmbeddingMatrix queries(2, dimension);
    for (float& number : queries.mutable_row(0)) number = -1e-45f;
    for (float& number : queries.mutable_row(1)) number = 1e-45f;
    const auto index = Load(rows.view());
    CheckSame(*index, rows.view(), queries, 3);
    const NeighborLists lists = Find(*index, queries, {3});
    for (const Neighbor& neighbor : lists[0]) {
      CHECK_FALSE(std::signbit(neighbor.score));
      CHECK_FALSE(std::signbit(RowScore(rows.view(), queries.row(0).data(), neighbor.row)));
    }
  }
}

TEST_CASE("a device that cannot hold the rows is told so, and keeps nothing") {
  const EmbeddingMatrix values = ClusteredRows(500, 64, 9);
  const GappedRows rows(values, Dtype::kFloat16);
  const int64_t needed = BytesOfScan(500, 64).device;
  for (int64_t bytes = 0; bytes < needed; bytes += needed / 40) {
    HostDevice device(bytes);
    const auto scan = HostScan::Load(device, rows.view(), CallContext::Unbounded());
    CHECK(absl::IsResourceExhausted(scan.status()));
    CHECK(device.free_bytes() == bytes);
  }
  HostDevice device(needed);
  {
    const auto index = LoadOn(device, rows.view());
    CHECK(device.free_bytes() == 0);
    CheckSame(*index, rows.view(), QueriesNear(values, 2, 9), 3);
  }
  CHECK(device.free_bytes() == needed);
}

TEST_CASE("a device that fails is an error, never a list") {
  const EmbeddingMatrix values = ClusteredRows(500, 64, 9);
  const GappedRows rows(values, Dtype::kFloat16);
  const EmbeddingMatrix queries = QueriesNear(values, 2, 9);
  HostDevice device;
  const auto index = LoadOn(device, rows.view());
  const absl::Status failure = MakeError(reasons::kDeviceFailed, "fell off the bus");
  device.Break(failure);
  CHECK(index->Search(queries, {3}, CallContext::Unbounded()).status() == failure);
  CHECK(HostScan::Load(device, rows.view(), CallContext::Unbounded()).status() == failure);
  // What is on it may be anything now, whatever the device says.
  device.Break(absl::OkStatus());
  CHECK(index->Search(queries, {3}, CallContext::Unbounded()).status() == failure);
  CheckSame(*LoadOn(device, rows.view()), rows.view(), queries, 3);
}

TEST_CASE(
    "what a scan takes is told before, and is more than there is for what no device can hold") {
  const GappedRows rows(ClusteredRows(500, 64, 9), Dtype::kFloat16);
  const auto scan = HostScan::Load(HostDevice(), rows.view(), CallContext::Unbounded());
  REQUIRE(scan.ok());
  CHECK((*scan)->byte_count().device == BytesOfScan(500, 64).device);
  CHECK((*scan)->byte_count().host == BytesOfScan(500, 64).host);
  CHECK(BytesOfScan(kMostDeviceRows - 1, 768).device > (kMostDeviceRows - 1) * 768 * 2);
  CHECK(BytesOfScan(kMostDeviceRows, 768).device == INT64_MAX);
  CHECK(BytesOfScan(1, 1 << 30).device == INT64_MAX);
}

TEST_CASE("an index on a device refuses what every index does") {
  const GappedRows rows(ClusteredRows(50, 16, 9), Dtype::kFloat16);
  const auto index = Load(rows.view());
  CHECK(index->IsExact({}));
  CHECK(index->size() == 50);
  CHECK(index->dimension() == 16);
  const auto refused = [&](const EmbeddingMatrix& queries, int top_k) {
    SearchOptions options;
    options.top_k = top_k;
    return absl::IsInvalidArgument(
        index->Search(queries, options, CallContext::Unbounded()).status());
  };
  CHECK(refused(EmbeddingMatrix(1, 15), 10));
  CHECK(refused(EmbeddingMatrix(1, 16), 0));
  CHECK(refused(EmbeddingMatrix(1, 16), limits::kMaxNeighbors + 1));
}

TEST_CASE("a search or a load of a call that is over ends with it") {
  const EmbeddingMatrix values = ClusteredRows(50, 16, 9);
  const GappedRows rows(values, Dtype::kFloat16);
  HostDevice device;
  const auto index = LoadOn(device, rows.view());
  const CallContext call = CallContext::Unbounded().Child();
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(index->Search(QueriesNear(values, 2, 1), {3}, call).status()));
  CHECK(device.waiting() == 0);
  // What it has begun is done when it ends.
  auto scan = HostScan::Load(device, rows.view(), CallContext::Unbounded());
  REQUIRE(scan.ok());
  const RowSet some = ListOf({1, 4}, 50);
  CHECK(absl::IsCancelled((*scan)->Search(QueriesNear(values, 2, 1), 3, &some, call).status()));
  CHECK(device.waiting() == 0);
  CHECK(absl::IsCancelled(HostScan::Load(HostDevice(), rows.view(), call).status()));
}

}  // namespace
}  // namespace sightline
