// What a scan on a device takes of memory, there and on the host, all of it from the beginning.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_SCAN_MEMORY_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_SCAN_MEMORY_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/index/device_kernels.h"
#include "common/index/device_layout.h"
#include "common/index/device_scan.h"

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

// Of as many rows of so many numbers, both positive or none; more than there is of anything where a
// device has not so many rows.
inline ScanBytes BytesOfScan(int64_t rows, int dimension) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int kMostDimension = 1 << 20;
  if (rows >= kMostDeviceRows || dimension > kMostDimension) return {kMost, 0};
  const ScanSizes sizes(rows, DeviceLayout(dimension));
  const auto outcome = static_cast<int64_t>(sizeof(ScanOutcome));
  const int64_t shared = sizes.queries * 4 + sizes.filter * 8 + outcome;
  return {sizes.rows * 2 + sizes.keys * 8 * 2 + shared, shared};
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_SCAN_MEMORY_H_
