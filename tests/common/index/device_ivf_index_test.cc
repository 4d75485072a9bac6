// Inverted files on a device: each list has to be the best of the rows of the lists that the
// ranking names, to the bit, and as good as what the CPU finds by codes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/index/device_scan_memory.h"
#include "tests/common/index/device_ivf_rig.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const char* const kCodes[] = {"rows", "int8", "pq4", "rabitq", "rabitq along axes"};

// Without a filter: the best of the rows of as many lists as the effort says, and of those after
// them while all have fewer than `top_k`.
NeighborLists Expected(const DeviceIvfRig& rig, const EmbeddingMatrix& queries, int effort,
                       int top_k) {
  NeighborLists expected;
  for (int64_t i = 0; i < queries.rows(); ++i) {
    const EmbeddingMatrix query = QueryAt(queries, i);
    std::vector<RankedList> lists = rig.ranking->Best(rig.QueryOf(query), effort);
    for (const RankedList& next : rig.ranking->Best(rig.QueryOf(query), rig.file.shape.lists)) {
      if (rig.RowsOf(lists, nullptr).count() >= top_k) break;
      const bool there = std::any_of(lists.begin(), lists.end(), [&](const RankedList& list) {
        return list.list == next.list;
      });
      if (!there) lists.push_back(next);
    }
    const RowSet rows = rig.RowsOf(lists, nullptr);
    expected.push_back(Referee(rig.rows.view(), query, top_k, &rows)[0]);
  }
  return expected;
}

void CheckLists(const DeviceIvfRig& rig, const EmbeddingMatrix& queries, int effort, int top_k) {
  CAPTURE(effort);
  CAPTURE(top_k);
  const NeighborLists found = Find(*rig.device_index, queries, OptionsOf(effort, top_k));
  REQUIRE(SameLists(found, Expected(rig, queries, effort, top_k)));
}

// Each place of a list has a row at least as good as the other list has there.
bool AsGood(const NeighborLists& found, const NeighborLists& other) {
  for (size_t i = 0; i < other.size(); ++i) {
    if (found[i].size() < other[i].size()) return false;
    for (size_t j = 0; j < other[i].size(); ++j) {
      if (found[i][j].score < other[i][j].score) return false;
    }
  }
  return true;
}

TEST_CASE("the rows of as many lists as the effort says are scored on a device, in every code") {
  for (const Dtype dtype : kDtypes) {
    for (const char* const code : kCodes) {
      CAPTURE(code);
      const EmbeddingMatrix values = ClusteredRows(1500, 32, 1);
      DeviceIvfRig rig(values, dtype, SpecOf(code, 32, 40));
      const EmbeddingMatrix queries = QueriesNear(values, 9, 2);
      for (const int effort : {1, 2, 7, 39}) {
        for (const int top_k : {1, 10}) CheckLists(rig, queries, effort, top_k);
        CHECK(AsGood(Find(*rig.device_index, queries, OptionsOf(effort, 10)),
                     Find(*rig.cpu_index, queries, OptionsOf(effort, 10))));
      }
      for (const int all : {40, 41, limits::kMaxEffort}) {
        REQUIRE(SameLists(Find(*rig.device_index, queries, OptionsOf(all, 10)),
                          Referee(rig.rows.view(), queries, 10)));
      }
    }
  }
}

TEST_CASE("lists are searched on a device in any dimension, few or many of them") {
  for (const Dtype dtype : kDtypes) {
    for (const int dimension : {1, 7, 33, 47, 257}) {
      CAPTURE(dimension);
      for (const int lists : {1, 3, 90}) {
        const EmbeddingMatrix values = ClusteredRows(300, dimension, 3);
        DeviceIvfRig rig(values, dtype, SpecOf("int8", dimension, lists));
        for (const int effort : {1, 2, 25}) {
          CheckLists(rig, QueriesNear(values, 4, 4), effort, 5);
        }
      }
    }
  }
}

TEST_CASE("a list is as long as was asked for, however few rows the lists have") {
  const EmbeddingMatrix values = ClusteredRows(1200, 16, 5);
  for (const Dtype dtype : kDtypes) {
    DeviceIvfRig rig(values, dtype, SpecOf("rabitq", 16, 100));
    const EmbeddingMatrix queries = QueriesNear(values, 5, 6);
    for (const int top_k : {50, 400, limits::kMaxNeighbors}) {
      CheckLists(rig, queries, 1, top_k);
      CHECK(Find(*rig.device_index, queries, OptionsOf(1, top_k))[0].size() ==
            static_cast<size_t>(top_k));
    }
  }
}

TEST_CASE("shards of no row, one row and few rows are on a device what they are on a CPU") {
  for (const Dtype dtype : kDtypes) {
    for (const int64_t count : {0, 1, 2, 5}) {
      CAPTURE(count);
      const EmbeddingMatrix values = ClusteredRows(count, 8, 7);
      DeviceIvfRig rig(values, dtype, SpecOf("rabitq", 8, 3));
      CHECK(rig.device_index->size() == count);
      CHECK(rig.device_index->dimension() == 8);
      const EmbeddingMatrix queries = QueriesNear(values, 3, 8);
      for (const int effort : {1, 2, 3}) {
        if (effort < rig.file.shape.lists) CheckLists(rig, queries, effort, 2);
        CHECK(AsGood(Find(*rig.device_index, queries, OptionsOf(effort, 4)),
                     Find(*rig.cpu_index, queries, OptionsOf(effort, 4))));
      }
    }
  }
}

TEST_CASE("equal rows in lists come by number, and rows of any length by their scores") {
  EmbeddingMatrix values = ClusteredRows(2000, 16, 9);
  for (int64_t row = 0; row < values.rows(); ++row) {
    // A third are copies of one, the others long and short.
    const auto from = values.row(row % 3 == 0 ? 0 : row);
    const float scale = row % 3 == 0 ? 1 : std::ldexp(1.0f, static_cast<int>(row % 20) - 12);
    for (int k = 0; k < 16; ++k) values.mutable_row(row)[k] = from[k] * scale;
  }
  EmbeddingMatrix queries = QueriesNear(values, 6, 10);
  std::copy_n(values.row(0).data(), 16, queries.mutable_row(0).data());
  for (float& number : queries.mutable_row(1)) number = 3e38f;  // products overflow
  for (float& number : queries.mutable_row(2)) number = 1e-40f;
  for (float& number : queries.mutable_row(3)) number = 0;
  for (const Dtype dtype : kDtypes) {
    DeviceIvfRig rig(values, dtype, SpecOf("int8", 16, 20));
    for (const int effort : {1, 4}) {
      for (const int top_k : {1, 30, 300}) CheckLists(rig, queries, effort, top_k);
    }
  }
}

TEST_CASE("rows that float16 has not are found in the lists where they are, and in no other") {
  const EmbeddingMatrix sound = ClusteredRows(900, 24, 11);
  EmbeddingMatrix values = sound;
  values.mutable_row(5)[3] = 70000;
  values.mutable_row(6)[3] = -70000;
  values.mutable_row(7)[23] = kInfinity;
  values.mutable_row(8)[0] = -kInfinity;
  values.mutable_row(9)[11] = std::nanf("");
  for (float& number : values.mutable_row(10)) number = 1e30f;
  const EmbeddingMatrix queries = QueriesNear(sound, 8, 12);
  for (const Dtype dtype : kDtypes) {
    DeviceIvfRig rig(values, dtype, SpecOf("int8", 24, 30));
    for (const int effort : {1, 3, 10, 29}) {
      for (const int top_k : {1, 5, 300}) CheckLists(rig, queries, effort, top_k);
    }
  }
}

TEST_CASE("rows that a device cannot tell apart are told apart where they lie") {
  EmbeddingMatrix values(9000, 16);
  std::mt19937 random(13);
  std::uniform_real_distribution<float> little(0, 1e-6f);
  for (int64_t i = 0; i < values.rows() * 16; ++i) values.mutable_data()[i] = 1 + little(random);
  DeviceIvfRig rig(values, Dtype::kFloat32, SpecOf("rows", 16, 2));
  CheckLists(rig, Ones(2, 16), 1, 20);
  std::vector<int64_t> odd(4500);
  for (int64_t i = 0; i < 4500; ++i) odd[i] = 2 * i + 1;
  const RowSet among = BitsOf(odd, 9000);
  CHECK(IsSound(Find(*rig.device_index, Ones(2, 16), OptionsOf(1, 20, &among)), rig.rows.view(),
                Ones(2, 16), OptionsOf(1, 20, &among)));
}

TEST_CASE("a query finds the same on a device alone and in any batch") {
  const EmbeddingMatrix values = ClusteredRows(1500, 24, 19);
  const EmbeddingMatrix queries = QueriesNear(values, 40, 20);
  std::vector<int64_t> some;
  for (int64_t row = 0; row < 1500; row += row % 5 == 0 ? 2 : 1) some.push_back(row);
  const RowSet among = BitsOf(some, 1500);
  for (const Dtype dtype : kDtypes) {
    DeviceIvfRig rig(values, dtype, SpecOf("rabitq", 24, 80));
    for (const RowSet* set : {static_cast<const RowSet*>(nullptr), &among}) {
      const SearchOptions options = OptionsOf(3, 10, set);
      const NeighborLists together = Find(*rig.device_index, queries, options);
      ComputePool alone(1);
      SearchOptions of_one = options;
      of_one.pool = &alone;
      for (int64_t i = 0; i < queries.rows(); i += 7) {
        CHECK(SameLists(Find(*rig.device_index, QueryAt(queries, i), of_one), {together[i]}));
      }
    }
  }
}

TEST_CASE("many lists are ranked by codes first, and more queries than a pass has go in several") {
  const EmbeddingMatrix values = ClusteredRows(4000, 8, 21);
  DeviceIvfRig rig(values, Dtype::kFloat16, SpecOf("rabitq", 8, 600));
  CHECK(rig.ranking->byte_count() > 0);
  const EmbeddingMatrix queries = QueriesNear(values, kListQueries + 5, 22);
  CheckLists(rig, queries, 2, 3);
  CHECK(rig.device.launches_of<ScanPieces>() == 2);
}

TEST_CASE("what it takes is told before it is opened, and codes are no part of it") {
  const EmbeddingMatrix values = ClusteredRows(2000, 32, 23);
  for (const char* const code : kCodes) {
    CAPTURE(code);
    DeviceIvfRig rig(values, Dtype::kFloat16, SpecOf(code, 32, 520));
    const ScanBytes told = rig.shard.kind().on_device->footprint(rig.shard.manifest(), 0);
    CHECK(told.host == rig.device_index->byte_count());
    CHECK(told.device == BytesOfListScan(2000, 32).device);
    CHECK(rig.device.free_bytes() == INT64_MAX - told.device);
    CHECK(told.host - BytesOfListScan(2000, 32).host ==
          rig.shard.kind().footprint(rig.shard.manifest(), 0) - IvfFileBytes(rig.file.shape) +
              IvfListBytes(rig.file.shape));
    // One byte less is refused, and nothing is kept.
    HostDevice small(told.device - 1);
    CHECK(absl::IsResourceExhausted(rig.TryOpen(rig.rows.view(), small).status()));
    CHECK(small.free_bytes() == told.device - 1);
    rig.device_index = nullptr;
    CHECK(rig.device.free_bytes() == INT64_MAX);
  }
}

TEST_CASE("a shard that a device cannot have is told as more than there is") {
  DeviceIvfRig rig(ClusteredRows(100, 8, 24), Dtype::kFloat16, SpecOf("int8", 8, 5));
  bundle::v1::GenerationManifest manifest = rig.shard.manifest();
  manifest.mutable_shards(0)->set_item_count(INT64_MAX);
  const ScanBytes told = rig.shard.kind().on_device->footprint(manifest, 0);
  CHECK(told.device == INT64_MAX);
  CHECK(told.host == INT64_MAX);
}

TEST_CASE("rows of lists may lie on a disk, and few of them are read") {
  const EmbeddingMatrix values = ClusteredRows(2000, 24, 25);
  const EmbeddingMatrix queries = QueriesNear(values, 8, 26);
  for (const Dtype dtype : kDtypes) {
    DeviceIvfRig rig(values, dtype, SpecOf("int8", 24, 40));
    MemoryReader reader(rig.rows.view());
    rig.OpenOn(reader.view());
    const int64_t before = reader.rows_read();
    CheckLists(rig, queries, 6, 10);
    CHECK(reader.rows_read() - before <= (dtype == Dtype::kFloat16 ? 0 : 8 * 84));
    reader.FailAfter(0);
    const auto found =
        rig.device_index->Search(queries, OptionsOf(6, 10), CallContext::Unbounded());
    CHECK(found.ok() == (dtype == Dtype::kFloat16));
  }
}

TEST_CASE("a device that fails while lists are searched is an error, and is not asked again") {
  const EmbeddingMatrix values = ClusteredRows(1000, 16, 27);
  const EmbeddingMatrix queries = QueriesNear(values, 3, 28);
  std::vector<int64_t> some;
  for (int64_t row = 0; row < 1000; row += row % 4 == 0 ? 2 : 1) some.push_back(row);
  const RowSet among = BitsOf(some, 1000);
  const absl::Status failure = MakeError(reasons::kDeviceFailed, "fell off the bus");
  for (const Dtype dtype : kDtypes) {
    DeviceIvfRig rig(values, dtype, SpecOf("int8", 16, 50));
    for (const RowSet* set : {static_cast<const RowSet*>(nullptr), &among}) {
      const SearchOptions options = OptionsOf(3, 5, set);
      REQUIRE_FALSE(rig.device_index->IsExact(options));
      const NeighborLists expected = Find(*rig.device_index, queries, options);
      bool failed = true;
      for (int64_t requests = 0; failed; ++requests) {
        rig.OpenOn(rig.rows.view());
        rig.device.BreakAfter(requests, failure);
        const auto lists = rig.device_index->Search(queries, options, CallContext::Unbounded());
        failed = !lists.ok();
        rig.device.Break(absl::OkStatus());
        rig.device.BreakAfter(-1, absl::OkStatus());
        if (failed) {
          CHECK(lists.status() == failure);
          CHECK(rig.device_index->Search(queries, options, CallContext::Unbounded()).status() ==
                failure);
        } else {
          CHECK(SameLists(*lists, expected));
          CHECK(requests >= (set == nullptr ? 7 : 2 * 7));
        }
      }
    }
  }
}

TEST_CASE("an inverted file on a device refuses what every index does") {
  const EmbeddingMatrix values = ClusteredRows(200, 16, 29);
  DeviceIvfRig rig(values, Dtype::kFloat16, SpecOf("int8", 16, 20));
  const auto status = [&](const EmbeddingMatrix& queries, const SearchOptions& options,
                          const CallContext& call) {
    return rig.device_index->Search(queries, options, call).status();
  };
  const CallContext unbounded = CallContext::Unbounded();
  CHECK(absl::IsInvalidArgument(status(EmbeddingMatrix(1, 15), OptionsOf(3, 5), unbounded)));
  CHECK(absl::IsInvalidArgument(status(EmbeddingMatrix(1, 16), OptionsOf(0, 5), unbounded)));
  CHECK(absl::IsInvalidArgument(status(EmbeddingMatrix(1, 16), OptionsOf(3, 0), unbounded)));
  const RowSet other = ListOf({1}, 201);
  CHECK(
      absl::IsInvalidArgument(status(EmbeddingMatrix(1, 16), OptionsOf(3, 5, &other), unbounded)));
  const CallContext over = unbounded.Child();
  over.cancellation()->Cancel();
  CHECK(absl::IsCancelled(status(QueriesNear(values, 2, 1), OptionsOf(3, 5), over)));
  CHECK(Find(*rig.device_index, EmbeddingMatrix(0, 16), OptionsOf(3, 5)).empty());
  // Files that are not the shard's.
  rig.shard.mutable_manifest()->mutable_shards(0)->clear_index_files();
  CHECK(HasReason(rig.TryOpen(rig.rows.view(), HostDevice()).status(), reasons::kContentInvalid));
}

TEST_CASE("further lists are ranked as long as those before them have too few rows") {
  const EmbeddingMatrix values = ClusteredRows(1000, 16, 30);
  DeviceIvfRig rig(values, Dtype::kFloat16, SpecOf("int8", 16, 50));
  const EmbeddingMatrix query = QueriesNear(values, 1, 31);
  const IvfQuery ranked = rig.QueryOf(query);
  for (const int64_t rows : {0, 1, 30, 500, 1000, 5000}) {
    const auto lists = rig.ranking->BestHolding(ranked, 3, rows);
    const auto best = rig.ranking->Best(ranked, 3);
    REQUIRE(lists.size() >= best.size());
    for (size_t i = 0; i < best.size(); ++i) CHECK(lists[i].list == best[i].list);
    const int64_t held = rig.RowsOf(lists, nullptr).count();
    CHECK(held >= std::min<int64_t>(rows, 1000));
    if (lists.size() > best.size()) {
      CHECK(held - rig.file.row_count(lists.back().list) < rows);
    }
  }
}

}  // namespace
}  // namespace sightline
