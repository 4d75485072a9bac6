// Many queries at once on a device that is the host: rough products, and lists whose rows, order
// and bits are the CPU's all the same.
#include "common/index/device_batch_scan.h"

#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "common/device/product.h"
#include "common/index/device_scan_memory.h"
#include "common/index/row_scores.h"
#include "tests/common/index/device_rig.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kRows = kLeastBatchRows + 700;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// An index, its device, and what batches and the scan of groups were asked for.
struct Rig {
  Rig(const EmbeddingMatrix& values, Dtype dtype) : rows(values, dtype) {
    index = LoadOn(device, rows.view());
  }

  // By batches alone, by groups alone, or by both: how many queries share a product is no matter.
  void Check(const EmbeddingMatrix& queries, int top_k, bool batches, bool groups,
             const RowSet* among = nullptr) {
    const int64_t products = device.launches_of<device::PlainHalfProduct>();
    const int64_t scans = Scans();
    CheckSame(*index, rows.view(), queries, top_k, among);
    CHECK((device.launches_of<device::PlainHalfProduct>() > products) == batches);
    CHECK((Scans() > scans) == groups);
  }
  int64_t Scans() const {
    return device.launches_of<ScanRows<8, 1>>() + device.launches_of<ScanRows<4, 8>>();
  }

  HostDevice device;
  GappedRows rows;
  std::unique_ptr<VectorIndex> index;
};

TEST_CASE("a batch finds what the CPU finds, to the bit, whatever the dimension") {
  for (const int dimension : {1, 7, 33, 64}) {
    CAPTURE(dimension);
    const EmbeddingMatrix values = ClusteredRows(kRows, dimension, 1);
    for (const Dtype dtype : {Dtype::kFloat16, Dtype::kFloat32}) {
      Rig rig(values, dtype);
      // Rows of one number are alike by the hundred, so that few lists are proven.
      const bool told_apart = dimension > 7;
      const EmbeddingMatrix queries = QueriesNear(values, 19, 2);
      if (told_apart) {
        rig.Check(queries, 10, /*batches=*/true, /*groups=*/false);
      } else {
        CheckSame(*rig.index, rig.rows.view(), queries, 10);
      }
    }
  }
}

TEST_CASE("batches are as large as they may be, and a few queries make none") {
  const EmbeddingMatrix values = ClusteredRows(kRows, 32, 3);
  Rig rig(values, Dtype::kFloat16);
  rig.Check(QueriesNear(values, 15, 4), 5, /*batches=*/false, /*groups=*/true);
  rig.Check(QueriesNear(values, 16, 4), 5, true, false);
  rig.Check(QueriesNear(values, kBatchQueries, 5), 5, true, false);
  rig.Check(QueriesNear(values, kBatchQueries + 3, 5), 5, true, true);
  for (const int top_k : {1, 100, 480}) rig.Check(QueriesNear(values, 16, 6), top_k, true, false);
  rig.Check(QueriesNear(values, 16, 6), 481, false, true);
}

TEST_CASE("few rows have no batches") {
  const EmbeddingMatrix values = ClusteredRows(kLeastBatchRows - 1, 16, 3);
  Rig rig(values, Dtype::kFloat16);
  rig.Check(QueriesNear(values, 20, 4), 5, false, true);
}

TEST_CASE("rows that cannot be told apart are left to the exact scan") {
  EmbeddingMatrix values = ClusteredRows(kRows, 24, 7);
  // Copies of one row, all over the matrix, more than a batch keeps.
  for (int64_t row = 0; row < kRows; row += 9) {
    std::copy_n(values.row(4).data(), 24, values.mutable_row(row).data());
  }
  Rig rig(values, Dtype::kFloat16);
  EmbeddingMatrix queries(17, 24);
  for (int i = 0; i < 17; ++i) {
    for (int j = 0; j < 24; ++j) queries.mutable_row(i)[j] = values.row(4)[j] * (i + 1);
  }
  rig.Check(queries, 10, /*batches=*/true, /*groups=*/true);
}

TEST_CASE("rows that rounding a query reorders come in the CPU's order") {
  // Scores that differ by less than a query in float16 can tell.
  EmbeddingMatrix values(kRows, 8);
  std::mt19937 random(5);
  for (int64_t row = 0; row < kRows; ++row) {
    for (int j = 0; j < 8; ++j) {
      values.mutable_row(row)[j] = static_cast<float>(random() % 5) / 4096 + (j == 0 ? 1 : 0);
    }
  }
  EmbeddingMatrix queries(16, 8);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      queries.mutable_row(i)[j] = 1 + static_cast<float>(random() % 1000) / 3000;
    }
  }
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kFloat32}) {
    Rig rig(values, dtype);
    CheckSame(*rig.index, rig.rows.view(), queries, 10);
  }
}

TEST_CASE("the best rows are found though rounding hides them behind more than a batch keeps") {
  // A query (1 + 1.4 s, 1 + 1.2 s), s = 2^-10, is (1 + s, 1 + s) in float16: rows (0, 1), which
  // come first, are as good as the rows (1, 0) at the end, which are better.
  EmbeddingMatrix values(kRows, 8);
  for (int64_t row = 0; row < 300; ++row) values.mutable_row(row)[1] = 1;
  for (int64_t row = kRows - 12; row < kRows; ++row) values.mutable_row(row)[0] = 1;
  EmbeddingMatrix queries(16, 8);
  for (int i = 0; i < 16; ++i) {
    queries.mutable_row(i)[0] = 1 + 1.4f / 1024;
    queries.mutable_row(i)[1] = 1 + 1.2f / 1024;
  }
  Rig rig(values, Dtype::kFloat16);
  rig.Check(queries, 10, /*batches=*/true, /*groups=*/true);
}

TEST_CASE("numbers that are none, too large or endless spoil no list") {
  EmbeddingMatrix values = ClusteredRows(kRows, 16, 8);
  values.mutable_row(17)[3] = std::numeric_limits<float>::quiet_NaN();
  values.mutable_row(400)[0] = kInfinity;
  const EmbeddingMatrix queries = QueriesNear(values, 18, 9);
  SECTION("rows of float16 of which nothing is known have no batches") {
    Rig rig(values, Dtype::kFloat16);
    rig.Check(queries, 10, false, true);
  }
  SECTION("rows of float32 that float16 has not are outliers, and the others have") {
    Rig rig(values, Dtype::kFloat32);
    CheckSame(*rig.index, rig.rows.view(), queries, 10);
    CHECK(rig.device.launches_of<device::PlainHalfProduct>() > 0);
  }
  SECTION("a query that float16 has not is left to the exact scan, and the others are not") {
    Rig rig(ClusteredRows(kRows, 16, 8), Dtype::kFloat16);
    EmbeddingMatrix some = QueriesNear(ClusteredRows(kRows, 16, 8), 20, 9);
    some.mutable_row(3)[2] = 1e6f;
    some.mutable_row(7)[1] = 1e-9f;
    rig.Check(some, 10, true, true);
  }
  SECTION("rows a thousand times as long as others") {
    EmbeddingMatrix uneven = ClusteredRows(kRows, 16, 8);
    for (int64_t row = 0; row < kRows; row += 1000) {
      for (float& number : uneven.mutable_row(row)) number *= 1000;
    }
    Rig rig(uneven, Dtype::kFloat16);
    CheckSame(*rig.index, rig.rows.view(), QueriesNear(uneven, 16, 3), 10);
  }
}

TEST_CASE("a broad filter is looked at in batches, and a narrow one is scanned itself") {
  const EmbeddingMatrix values = ClusteredRows(kRows, 32, 10);
  Rig rig(values, Dtype::kFloat16);
  const EmbeddingMatrix queries = QueriesNear(values, 16, 11);
  std::vector<uint32_t> even, odd, few;
  for (uint32_t row = 0; row < kRows; ++row) {
    (row % 2 == 0 ? even : odd).push_back(row);
    if (row % 50 == 1) few.push_back(row);
  }
  const RowSet broad = RowSet::OfRows(even, kRows), other = RowSet::OfRows(odd, kRows);
  const RowSet narrow = RowSet::OfRows(few, kRows);
  rig.Check(queries, 10, true, false, &broad);
  rig.Check(queries, 10, false, true, &narrow);
  // None of every other row, which make the floor: keys are lost, and that is noticed.
  rig.Check(queries, 10, true, true, &other);
}

TEST_CASE("fewer rows than are wanted are all of them") {
  const EmbeddingMatrix values = ClusteredRows(kRows, 16, 12);
  Rig rig(values, Dtype::kFloat16);
  std::vector<uint32_t> every(kRows / 4);
  for (size_t i = 0; i < every.size(); ++i) every[i] = static_cast<uint32_t>(4 * i);
  const RowSet among = RowSet::OfRows(every, kRows);
  CheckSame(*rig.index, rig.rows.view(), QueriesNear(values, 16, 13), 400, &among);
}

TEST_CASE("what batches take is told with all else") {
  const GappedRows rows(ClusteredRows(kRows, 24, 1), Dtype::kFloat16);
  HostDevice device(int64_t{1} << 40);
  const int64_t before = device.free_bytes();
  const auto index = LoadOn(device, rows.view());
  // Plain products take none for themselves.
  CHECK(before - device.free_bytes() == BytesOfScan(kRows, 24).device - device::kWorkspaceBytes);
}

}  // namespace
}  // namespace sightline
