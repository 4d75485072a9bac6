// Rows of float32 on a device, which has them rounded: what is found has to be the CPU's to the
// bit, also where rounding puts rows in another order.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/call_context.h"
#include "common/base/limits.h"
#include "tests/common/index/device_rig.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What a scan and its selections launch for a group of queries over so few rows that all are scored
// as they come.
constexpr int kLaunchesOfScan = 2;

TEST_CASE("rows that a device has rounded are found as the CPU finds them") {
  for (const int dimension : {1, 8, 33, 96, 257, 768}) {
    CAPTURE(dimension);
    const EmbeddingMatrix values = ClusteredRows(1500, dimension, 11);
    const GappedRows rows(values, Dtype::kFloat32);
    const auto index = Load(rows.view());
    for (const int top_k : {1, 10, 200}) {
      CheckSame(*index, rows.view(), QueriesNear(values, 9, 12), top_k);
    }
  }
}

TEST_CASE("what a device has rounded mostly proves the list at once") {
  const EmbeddingMatrix values = ClusteredRows(3000, 64, 13);
  const GappedRows rows(values, Dtype::kFloat32);
  HostDevice device;
  const auto index = LoadOn(device, rows.view());
  const int64_t before = device.launches();
  CheckSame(*index, rows.view(), QueriesNear(values, 8, 14), 10);
  CHECK(device.launches() - before == kLaunchesOfScan);
}

// A row whose numbers all lose nearly half a unit when they are rounded, and `others` that lose
// nothing: it is better than they are, and rounded it is worse.
EmbeddingMatrix OneThatLoses(int64_t others) {
  EmbeddingMatrix values = Ones(others + 1, 32);
  for (int64_t row = 0; row < others; ++row) {
    for (int i = 0; i < 10; ++i) values.mutable_row(row)[(row + i) % 32] += 0x1p-10f;
  }
  for (float& number : values.mutable_row(others)) number += 0.99f * 0x1p-11f;
  return values;
}

TEST_CASE("a row that rounding makes worse than a thousand others is found before them") {
  const GappedRows rows(OneThatLoses(1000), Dtype::kFloat32);
  HostDevice device;
  const auto index = LoadOn(device, rows.view());
  const EmbeddingMatrix query = Ones(1, 32);
  const int64_t before = device.launches();
  CheckSame(*index, rows.view(), query, 1);
  CHECK(Find(*index, query, {1})[0][0].row == 1000);
  // 66, 264 and 1 056 rows were asked for, twice.
  CHECK(device.launches() - before == 2 * 3 * kLaunchesOfScan);
}

TEST_CASE("a row that rounding makes worse than all that a device can tell is found") {
  const GappedRows rows(OneThatLoses(DeviceScan::kMostNeighbors + 500), Dtype::kFloat32);
  const auto index = Load(rows.view());
  CheckSame(*index, rows.view(), Ones(1, 32), 1);
  CheckSame(*index, rows.view(), Ones(1, 32), 30);
}

TEST_CASE(
    "rows that float16 cannot tell apart come in the order of float32, equal ones by number") {
  std::mt19937 random(15);
  for (const bool equal : {false, true}) {
    CAPTURE(equal);
    EmbeddingMatrix values = Ones(6000, 16);
    std::uniform_real_distribution<float> little(0, equal ? 0.0f : 1e-6f);
    for (int64_t row = 0; row < values.rows(); ++row) {
      for (float& number : values.mutable_row(row)) number += little(random);
    }
    const GappedRows rows(values, Dtype::kFloat32);
    CheckSame(*Load(rows.view()), rows.view(), Ones(3, 16), 20);
  }
}

TEST_CASE("rows of all lengths on a device: tiny, huge, none") {
  EmbeddingMatrix values = ClusteredRows(2500, 40, 16);
  for (int64_t row = 0; row < values.rows(); ++row) {
    const float scale = std::ldexp(1.0f, static_cast<int>(row % 30) - 20);
    for (float& number : values.mutable_row(row)) number *= scale;
  }
  for (float& number : values.mutable_row(100)) number = 60000;
  for (float& number : values.mutable_row(101)) number = 1e-42f;
  for (float& number : values.mutable_row(102)) number = 0;
  const GappedRows rows(values, Dtype::kFloat32);
  const auto index = Load(rows.view());
  EmbeddingMatrix queries = QueriesNear(values, 7, 17);
  for (float& number : queries.mutable_row(0)) number = 1e30f;
  for (float& number : queries.mutable_row(1)) number = 3e38f;
  for (float& number : queries.mutable_row(2)) number = 1e-40f;
  for (float& number : queries.mutable_row(3)) number = 0;
  for (const int top_k : {1, 25, limits::kMaxNeighbors}) {
    CheckSame(*index, rows.view(), queries, top_k);
  }
}

// With rows that float16 has not: too large, infinite, no numbers.
EmbeddingMatrix WithOutliers() {
  EmbeddingMatrix values = ClusteredRows(800, 24, 18);
  values.mutable_row(5)[3] = 70000;
  values.mutable_row(6)[3] = -70000;
  values.mutable_row(7)[23] = kInfinity;
  values.mutable_row(8)[0] = -kInfinity;
  values.mutable_row(9)[11] = std::nanf("");
  for (float& number : values.mutable_row(10)) number = 1e30f;
  return values;
}

TEST_CASE("rows that float16 has not are found beside a device's") {
  const EmbeddingMatrix values = WithOutliers();
  const GappedRows rows(values, Dtype::kFloat32);
  const auto index = Load(rows.view());
  const EmbeddingMatrix queries = QueriesNear(ClusteredRows(800, 24, 18), 9, 19);
  for (const int top_k : {1, 3, 10, 799, 800}) CheckSame(*index, rows.view(), queries, top_k);
  const RowSet some = ListOf({1, 2, 5, 8, 9, 400}, 800);
  const RowSet others = BitsOf({1, 2, 6, 7, 10, 401}, 800);
  for (const RowSet* among : {&some, &others}) {
    for (const int top_k : {1, 3, 10}) CheckSame(*index, rows.view(), queries, top_k, among);
  }
}

TEST_CASE("rows of which most are not for float16 are not for a device") {
  EmbeddingMatrix values = Ones(1200, 8);
  for (int64_t row = 0; row < 1001; ++row) values.mutable_row(row)[row % 8] = 70000;
  const GappedRows rows(values, Dtype::kFloat32);
  const auto scan = HostScan::Load(HostDevice(), rows.view(), CallContext::Unbounded());
  CHECK(absl::IsInvalidArgument(scan.status()));
  CHECK(absl::StrContains(scan.status().message(), "1001 of 1200 rows"));
}

TEST_CASE("rows on a disk are on a device as they are in memory, and few of them are read") {
  const EmbeddingMatrix values = ClusteredRows(3000, 32, 20);
  const EmbeddingMatrix queries = QueriesNear(values, 8, 21);
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16}) {
    const GappedRows rows(values, dtype);
    const MemoryReader reader(rows.view());
    const auto index = Load(reader.view());
    const int64_t before = reader.rows_read();
    CheckSame(*index, rows.view(), queries, 10);
    CHECK(reader.rows_read() - before <= (dtype == Dtype::kFloat16 ? 0 : 8 * 84));
  }
}

TEST_CASE("a disk that fails is an error of the search or of the load") {
  const EmbeddingMatrix values = ClusteredRows(3000, 32, 20);
  const GappedRows rows(values, Dtype::kFloat32);
  MemoryReader reader(rows.view());
  const auto index = Load(reader.view());
  reader.FailAfter(0);
  CHECK_FALSE(index->Search(QueriesNear(values, 2, 21), {3}, CallContext::Unbounded()).ok());
  CHECK_FALSE(HostScan::Load(HostDevice(), reader.view(), CallContext::Unbounded()).ok());
}

}  // namespace
}  // namespace sightline
