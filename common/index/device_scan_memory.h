// What a scan on a device takes of memory, there and on the host, all of it from the beginning.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_SCAN_MEMORY_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_SCAN_MEMORY_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "common/device/product.h"
#include "common/index/device_kernels.h"
#include "common/index/device_layout.h"
#include "common/index/device_list_kernels.h"
#include "common/index/device_scan.h"
#include "common/index/vector_index.h"

namespace sightline {

// Of a shard: so that a count of them is an int.
inline constexpr int64_t kMostDeviceRows = int64_t{1} << 31;
// Keys of a query that are kept at once.
inline constexpr int64_t kKeysOfQuery = 16384;

// Numbers of each array.
struct ScanSizes {
  ScanSizes(int64_t row_count, const DeviceLayout& layout)
      : rows(std::max<int64_t>(row_count, 1) * layout.numbers),
        queries(int64_t{kQueriesOfGroup} * layout.numbers),
        filter(row_count / 64 + 1),
        keys(kQueriesOfGroup * kKeysOfQuery) {}
  int64_t rows, queries, filter, keys;
};

// What a search of a group leaves: in the end the best keys, query after query.
struct ScanOutcome {
  uint64_t floors[kQueriesOfGroup];
  int counts[2][kQueriesOfGroup];  // of the tables
  int best_counts[kQueriesOfGroup];
  int overflows[kQueriesOfGroup];
  uint64_t best[kQueriesOfGroup * DeviceScan::kMostNeighbors];
};

// Queries of a batch (device_batch_scan.h), rows that are scored at once for them, keys of each
// that are kept at once, and the most that may be wanted of each.
inline constexpr int kBatchQueries = 256;
inline constexpr int64_t kBatchRows = 16384;
inline constexpr int64_t kBatchKeys = 4096;
inline constexpr int kMostBatchBest = 1024;
// A batch is not worth its memory for fewer rows.
inline constexpr int64_t kLeastBatchRows = 8192;

// What a batch leaves beside its keys.
struct BatchState {
  uint64_t floors[kBatchQueries];
  int counts[2][kBatchQueries];  // of the tables
  int best_counts[kBatchQueries];
  int overflows[kBatchQueries];
};

// Numbers of each array of a batch.
struct BatchSizes {
  explicit BatchSizes(const DeviceLayout& layout)
      : queries(int64_t{kBatchQueries} * layout.numbers),
        scores(kBatchRows * kBatchQueries),
        keys(kBatchKeys * kBatchQueries),
        best(int64_t{kMostBatchBest} * kBatchQueries) {}

  ScanBytes bytes() const {
    constexpr auto kState = static_cast<int64_t>(sizeof(BatchState));
    // Queries in both forms, scores, two tables, best keys twice and their rows.
    return {queries * 6 + scores * 4 + keys * 16 + best * 20 + kState + device::kWorkspaceBytes,
            queries * 6 + best * 8 + kState};
  }

  int64_t queries, scores, keys, best;
};

// Of a pass of a search in lists (device_list_scan.h): queries, rows that are scored, pieces that
// these are cut into, and keys that are left of all of them.
inline constexpr int kListQueries = 256;
inline constexpr int64_t kListKeys = int64_t{1} << 22;
inline constexpr int64_t kListPieces = int64_t{1} << 16;
inline constexpr int64_t kListBest = int64_t{1} << 20;

// Numbers of each array of it; none where there is no row.
struct ListSizes {
  ListSizes() = default;
  ListSizes(int64_t row_count, const DeviceLayout& layout)
      : order(row_count),
        queries(int64_t{kListQueries} * layout.numbers),
        keys(std::min(kListKeys, kListQueries * row_count)),
        pieces(std::min(kListPieces, keys)),
        best(std::min(kListBest, keys)),
        parts(kListQueries + keys / kKeysOfQuery) {}

  ScanBytes bytes() const {
    constexpr auto kPiece = static_cast<int64_t>(sizeof(ListPiece));
    constexpr auto kPart = static_cast<int64_t>(sizeof(ListPart) + sizeof(int));
    const int64_t shared = queries * 4 + pieces * kPiece + parts * kPart + best * 8;
    return {order * 4 + keys * 8 + shared, shared};
  }

  int64_t order = 0, queries = 0, keys = 0, pieces = 0, best = 0, parts = 0;
};

// What a key stands for; it is not zero.
inline Neighbor NeighborOf(uint64_t key) {
  const auto ascending = static_cast<uint32_t>(key >> 32);
  const uint32_t bits = (ascending & 0x80000000u) != 0 ? ascending & 0x7FFFFFFFu : ~ascending;
  Neighbor neighbor;
  neighbor.row = 0xFFFFFFFFu - static_cast<uint32_t>(key);
  std::memcpy(&neighbor.score, &bits, sizeof(bits));
  return neighbor;
}

// Of as many rows of so many numbers, both positive or none; more than there is of anything where a
// device has not so many rows.
inline ScanBytes BytesOfScan(int64_t rows, int dimension) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int kMostDimension = 1 << 20;
  if (rows >= kMostDeviceRows || dimension > kMostDimension) return {kMost, 0};
  const ScanSizes sizes(rows, DeviceLayout(dimension));
  const auto outcome = static_cast<int64_t>(sizeof(ScanOutcome));
  const int64_t shared = sizes.queries * 4 + sizes.filter * 8 + outcome;
  ScanBytes bytes = {sizes.rows * 2 + sizes.keys * 8 * 2 + shared, shared};
  if (rows < kLeastBatchRows) return bytes;
  const ScanBytes batch = BatchSizes(DeviceLayout(dimension)).bytes();
  return {bytes.device + batch.device, bytes.host + batch.host};
}

// Of rows that are searched in lists, too.
inline ScanBytes BytesOfListScan(int64_t rows, int dimension) {
  const ScanBytes scan = BytesOfScan(rows, dimension);
  if (rows == 0 || scan.device == std::numeric_limits<int64_t>::max()) return scan;
  const ScanBytes lists = ListSizes(rows, DeviceLayout(dimension)).bytes();
  return {scan.device + lists.device, scan.host + lists.host};
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_SCAN_MEMORY_H_
