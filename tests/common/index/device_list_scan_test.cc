// The search of a device in lists, run on the host block by block: rows, order and bits have to be
// those of a naive scan over what each query looks into, however little fits into a pass.
#include "common/index/device_list_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "common/base/call_context.h"
#include "common/base/error_details.h"
#include "common/base/float16.h"
#include "common/device/host_device.h"
#include "common/index/device_scan_memory.h"
#include "tests/common/index/device_rig.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Ranges = std::vector<std::vector<RowRange>>;  // of each query

std::vector<int32_t> Shuffled(int64_t rows, uint32_t seed) {
  std::vector<int32_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

// Of each query some lists of a few lengths, none among them, in any order; of the first one all.
Ranges SomeRanges(int64_t queries, int64_t rows, uint32_t seed) {
  std::mt19937 random(seed);
  Ranges ranges(queries);
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t begin = 0; begin < rows;) {
      const int64_t end = std::min<int64_t>(
          rows, begin + static_cast<int64_t>(random() % 4 == 0 ? random() % 150 : random() % 20));
      if (i == 0 || random() % 3 == 0) ranges[i].push_back({begin, end});
      begin = end;
    }
    std::shuffle(ranges[i].begin(), ranges[i].end(), random);
  }
  return ranges;
}

std::vector<RowRanges> ViewsOf(const Ranges& ranges) {
  return std::vector<RowRanges>(ranges.begin(), ranges.end());
}

// What each query has to find: of the rows where it looks, and `among`, the best.
NeighborLists Expected(const VectorView& rows, const std::vector<int32_t>& order,
                       const EmbeddingMatrix& queries, const Ranges& ranges, int top_k,
                       const RowSet* among = nullptr) {
  NeighborLists lists;
  for (int64_t i = 0; i < queries.rows(); ++i) {
    std::vector<int64_t> some;
    for (const RowRange range : ranges[i]) {
      for (int64_t position = range.begin; position < range.end; ++position) {
        const int64_t row = order[position];
        if (among == nullptr || among->Contains(row)) some.push_back(row);
      }
    }
    std::sort(some.begin(), some.end());
    const RowSet set = BitsOf(some, rows.rows);
    EmbeddingMatrix query(1, queries.dimension());
    std::copy_n(queries.row(i).data(), queries.dimension(), query.mutable_data());
    lists.push_back(Referee(rows, query, top_k, &set)[0]);
  }
  return lists;
}

std::unique_ptr<HostScan> LoadInOrder(HostDevice device, const VectorView& rows,
                                      const std::vector<int32_t>& order) {
  auto scan = HostScan::Load(std::move(device), rows, CallContext::Unbounded(), order);
  REQUIRE(scan.ok());
  return *std::move(scan);
}

void CheckRanges(DeviceScan* scan, const VectorView& rows, const std::vector<int32_t>& order,
                 const EmbeddingMatrix& queries, const Ranges& ranges, int top_k,
                 const RowSet* among = nullptr) {
  const auto lists =
      scan->SearchRanges(queries, ViewsOf(ranges), top_k, among, CallContext::Unbounded());
  REQUIRE(lists.ok());
  REQUIRE(SameLists(*lists, Expected(rows, order, queries, ranges, top_k, among)));
}

TEST_CASE("a device finds the best of some lists, to the bit, whatever the dimension") {
  for (const int dimension : {1, 7, 8, 9, 31, 32, 33, 47, 96, 255, 256, 257, 511, 768}) {
    CAPTURE(dimension);
    const EmbeddingMatrix values = ClusteredRows(403, dimension, 1);
    const GappedRows rows(values, Dtype::kFloat16);
    const std::vector<int32_t> order = Shuffled(403, 2);
    const auto scan = LoadInOrder(HostDevice(), rows.view(), order);
    for (const int64_t queries : {1, 5, 20}) {
      CheckRanges(scan.get(), rows.view(), order, QueriesNear(values, queries, 3),
                  SomeRanges(queries, 403, 4), 10);
    }
  }
}

TEST_CASE("a device finds all that lists have, and not more, as many as it can tell") {
  const EmbeddingMatrix values = ClusteredRows(6000, 8, 5);
  const GappedRows rows(values, Dtype::kFloat16);
  const std::vector<int32_t> order = Shuffled(6000, 6);
  const auto scan = LoadInOrder(HostDevice(), rows.view(), order);
  const EmbeddingMatrix queries = QueriesNear(values, 4, 7);
  Ranges ranges = {{{0, 6000}}, {{17, 18}}, {}, {{5000, 5100}, {3, 3}, {100, 5000}}};
  for (const int top_k : {1, 2, 100, 2049, DeviceScan::kMostNeighbors}) {
    CAPTURE(top_k);
    CheckRanges(scan.get(), rows.view(), order, queries, ranges, top_k);
  }
  // The next search is of all rows again.
  const auto all = scan->Search(queries, 20, nullptr, CallContext::Unbounded());
  REQUIRE(all.ok());
  CHECK(SameLists(*all, Referee(rows.view(), queries, 20)));
}

TEST_CASE("more rows than are selected from at once are put together from parts") {
  constexpr int64_t kCount = 2 * kKeysOfQuery + 5000;
  EmbeddingMatrix values(kCount, 2);
  for (int64_t row = 0; row < kCount; ++row) {
    values.mutable_row(row)[0] = static_cast<float>(row % 1024);
    values.mutable_row(row)[1] = static_cast<float>(row % 7);
  }
  const GappedRows rows(values, Dtype::kFloat16);
  const std::vector<int32_t> order = Shuffled(kCount, 8);
  const auto scan = LoadInOrder(HostDevice(), rows.view(), order);
  for (const int top_k : {1, 30, DeviceScan::kMostNeighbors}) {
    CheckRanges(scan.get(), rows.view(), order, Ones(1, 2), {{{0, kCount}}}, top_k);
    CheckRanges(scan.get(), rows.view(), order, Ones(2, 2),
                {{{10, kKeysOfQuery + 10}}, {{3, kKeysOfQuery + 4}}}, top_k);
  }
}

TEST_CASE("a device finds among some rows of lists only") {
  const EmbeddingMatrix values = ClusteredRows(2000, 33, 9);
  const GappedRows rows(values, Dtype::kFloat16);
  const std::vector<int32_t> order = Shuffled(2000, 10);
  const auto scan = LoadInOrder(HostDevice(), rows.view(), order);
  const EmbeddingMatrix queries = QueriesNear(values, 6, 11);
  const Ranges ranges = SomeRanges(6, 2000, 12);
  for (const int every : {1, 2, 7, 100, 1999}) {
    CAPTURE(every);
    std::vector<int64_t> some;
    for (int64_t row = every / 2; row < 2000; row += every) some.push_back(row);
    for (const RowSet& among : {ListOf(some, 2000), BitsOf(some, 2000)}) {
      CheckRanges(scan.get(), rows.view(), order, queries, ranges, 10, &among);
    }
  }
  // Side by side, and none.
  std::vector<int64_t> lower(1000);
  std::iota(lower.begin(), lower.end(), 0);
  const RowSet half = BitsOf(lower, 2000), none = RowSet::OfRows({}, 2000);
  CheckRanges(scan.get(), rows.view(), order, queries, ranges, 500, &half);
  CheckRanges(scan.get(), rows.view(), order, queries, ranges, 10, &none);
  CheckRanges(scan.get(), rows.view(), order, queries, ranges, 10);
}

TEST_CASE("equal scores come by row, and rows that are no numbers do not come") {
  EmbeddingMatrix values = Ones(3000, 8);
  for (int64_t row = 0; row < 3000; row += 3) values.mutable_row(row)[2] = std::nanf("");
  values.mutable_row(4)[1] = std::numeric_limits<float>::infinity();
  values.mutable_row(5)[1] = -std::numeric_limits<float>::infinity();
  const GappedRows rows(values, Dtype::kFloat16);
  const std::vector<int32_t> order = Shuffled(3000, 13);
  const auto scan = LoadInOrder(HostDevice(), rows.view(), order);
  for (const int top_k : {1, 100, 101, 2500}) {
    CheckRanges(scan.get(), rows.view(), order, Ones(3, 8), SomeRanges(3, 3000, 14), top_k);
  }
}

// A scan in passes of any size, over rows that it has loaded itself.
struct SmallPasses {
  explicit SmallPasses(int64_t count, int dimension)
      : values(ClusteredRows(count, dimension, 15)),
        stored(values, Dtype::kFloat16),
        order(Shuffled(count, 16)),
        layout(dimension) {
    REQUIRE(numbers.Reserve(&device, count * layout.numbers).ok());
    for (int64_t row = 0; row < count; ++row) {
      layout.ArrangeRow(reinterpret_cast<const uint16_t*>(stored.view().row(row)),
                        numbers.data() + row * layout.numbers);
    }
    rows.numbers = numbers.data();
    rows.count = count;
  }

  absl::StatusOr<NeighborLists> Search(const ListSizes& sizes, const EmbeddingMatrix& queries,
                                       const Ranges& ranges, int top_k,
                                       const CallContext& call = CallContext::Unbounded()) {
    DeviceListScan<HostDevice> scan;
    const absl::Status reserved = scan.Reserve(&device, sizes, order);
    if (!reserved.ok()) return reserved;
    auto lists = scan.Search(&device, rows, queries, ViewsOf(ranges), top_k, nullptr, call);
    if (!lists.ok()) (void)device.Wait();  // before its memory goes
    return lists;
  }

  HostDevice device;
  const EmbeddingMatrix values;
  const GappedRows stored;
  const std::vector<int32_t> order;
  const DeviceLayout layout;
  device::DeviceArray<HostDevice, uint16_t> numbers;
  DeviceRows rows{layout};
};

TEST_CASE("what does not fit into a pass is the next one's, whichever room is short") {
  constexpr int kTopK = 7;
  SmallPasses rig(600, 24);
  const EmbeddingMatrix queries = QueriesNear(rig.values, 12, 17);
  const Ranges ranges = SomeRanges(12, 600, 18);
  const NeighborLists expected = Expected(rig.stored.view(), rig.order, queries, ranges, kTopK);
  const ListSizes enough(600, rig.layout);
  const auto check = [&](const ListSizes& sizes, int64_t least_passes) {
    const int64_t before = rig.device.launches_of<ScanPieces>();
    const auto lists = rig.Search(sizes, queries, ranges, kTopK);
    REQUIRE(lists.ok());
    CHECK(SameLists(*lists, expected));
    CHECK(rig.device.launches_of<ScanPieces>() - before >= least_passes);
  };
  check(enough, 1);
  ListSizes sizes = enough;
  sizes.queries = rig.layout.numbers;
  check(sizes, 12);
  sizes.queries = 5 * rig.layout.numbers;
  check(sizes, 3);
  for (const int64_t few : {1, 2, 50}) {
    sizes = enough;
    sizes.pieces = few;
    check(sizes, 12 / few);
    sizes = enough;
    sizes.parts = few;
    check(sizes, 12 / few);
    sizes = enough;
    sizes.best = few * kTopK;
    check(sizes, 12 / few);
  }
  for (const int64_t few : {1, 3, 100, 601}) {
    sizes = enough;
    sizes.keys = few;
    check(sizes, 600 / few);
  }
  std::mt19937 random(19);
  for (int i = 0; i < 50; ++i) {
    sizes.queries = (1 + random() % 13) * rig.layout.numbers;
    sizes.pieces = 1 + random() % 40;
    sizes.parts = 1 + random() % 8;
    sizes.best = kTopK * (1 + random() % 8);
    sizes.keys = 1 + random() % 700;
    check(sizes, 1);
  }
}

TEST_CASE("a device that fails anywhere in a search of lists is an error, never a list") {
  SmallPasses rig(600, 24);
  const EmbeddingMatrix queries = QueriesNear(rig.values, 5, 17);
  const Ranges ranges = SomeRanges(5, 600, 18);
  const NeighborLists expected = Expected(rig.stored.view(), rig.order, queries, ranges, 7);
  ListSizes sizes(600, rig.layout);
  sizes.parts = 2;
  const absl::Status failure = MakeError(reasons::kDeviceFailed, "fell off the bus");
  bool failed = true;
  int64_t requests = 0;
  for (; failed; ++requests) {
    rig.device.Break(absl::OkStatus());
    rig.device.BreakAfter(requests, failure);
    const auto lists = rig.Search(sizes, queries, ranges, 7);
    failed = !lists.ok();
    if (failed) {
      CHECK(lists.status() == failure);
    } else {
      CHECK(SameLists(*lists, expected));
    }
  }
  CHECK(requests > 3 * 7);  // of each pass: three copies, two launches, two copies
}

TEST_CASE("a search of lists ends with its call, and leaves nothing under way") {
  SmallPasses rig(600, 24);
  const CallContext call = CallContext::Unbounded().Child();
  call.cancellation()->Cancel();
  const EmbeddingMatrix queries = QueriesNear(rig.values, 5, 17);
  const Ranges ranges = SomeRanges(5, 600, 18);
  CHECK(
      absl::IsCancelled(rig.Search(ListSizes(600, rig.layout), queries, ranges, 7, call).status()));
  HostDevice device;
  const auto scan = LoadInOrder(device, rig.stored.view(), rig.order);
  const RowSet some = ListOf({1, 4}, 600);
  CHECK(absl::IsCancelled(scan->SearchRanges(queries, ViewsOf(ranges), 7, &some, call).status()));
  CHECK(device.waiting() == 0);
}

TEST_CASE("a device that cannot hold lists is told so, and keeps nothing") {
  const GappedRows rows(ClusteredRows(500, 64, 9), Dtype::kFloat16);
  const std::vector<int32_t> order = Shuffled(500, 20);
  const auto load = [&](HostDevice device) {
    return HostScan::Load(std::move(device), rows.view(), CallContext::Unbounded(), order);
  };
  const int64_t needed = BytesOfListScan(500, 64).device;
  CHECK(needed > BytesOfScan(500, 64).device);
  for (int64_t bytes = 0; bytes < needed; bytes += needed / 60) {
    HostDevice device(bytes);
    CHECK(absl::IsResourceExhausted(load(device).status()));
    CHECK(device.free_bytes() == bytes);
  }
  HostDevice device(needed);
  {
    const auto scan = load(device);
    REQUIRE(scan.ok());
    CHECK(device.free_bytes() == 0);
    CHECK((*scan)->byte_count().device == needed);
    CHECK((*scan)->byte_count().host == BytesOfListScan(500, 64).host);
  }
  CHECK(device.free_bytes() == needed);
  CHECK(BytesOfListScan(kMostDeviceRows, 768).device == INT64_MAX);
  CHECK(BytesOfListScan(0, 64).device == BytesOfScan(0, 64).device);
}

}  // namespace
}  // namespace sightline
