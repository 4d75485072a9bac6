// The kernels of a scan of many queries on a device, beside those of device_kernels.h: what rough
// scores offer, and the exact scores of those that were best.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_BATCH_KERNELS_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_BATCH_KERNELS_H_

#include <cstdint>

#include "common/device/block.h"
#include "common/index/device_kernels.h"

namespace sightline {

// The row of a key.
SIGHTLINE_DEVICE uint32_t RowOfKey(uint64_t key) {
  return 0xFFFFFFFFu - static_cast<uint32_t>(key);
}

// Offers keys above a query's floor of rough scores, row after row: of row number begin + i *
// stride the i-th.
struct OfferScores {
  static constexpr int kThreads = 256;
  static constexpr int kBlocksAtOnce = 4;
  struct Shared {};

  const float* scores = nullptr;
  int64_t begin = 0, stride = 1;
  int row_count = 0;
  int query_count = 0;
  const uint64_t* among = nullptr;   // bits of rows that may be found; null: all
  const uint64_t* floors = nullptr;  // of each query
  KeyTable found;

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    block.Step([&](int thread) {
      const int64_t end = int64_t{row_count} * query_count;
      const int64_t step = int64_t{block.count()} * kThreads;
      for (int64_t i = int64_t{block.index()} * kThreads + thread; i < end; i += step) {
        const float score = device::Plus(scores[i], 0.0f);
        if (score != score) continue;
        const auto row = static_cast<uint32_t>(begin + i / query_count * stride);
        const int query = static_cast<int>(i % query_count);
        const uint64_t key = KeyOf(score, row);
        if (key <= floors[query]) continue;
        if (among != nullptr && (among[row >> 6] >> (row & 63) & 1) == 0) continue;
        const int slot = device::AtomicAdd(found.counts + query, 1);
        if (slot < found.capacity) found.of(query)[slot] = key;
      }
    });
  }
};

// The rows of each query's keys, at the same places.
struct ListRows {
  static constexpr int kThreads = 256;
  static constexpr int kBlocksAtOnce = 4;
  struct Shared {};

  KeyTable from;
  uint32_t* rows = nullptr;  // from.capacity a query

  // A block for each query.
  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    const int query = block.index();
    block.Step([&](int thread) {
      for (int i = thread; i < from.counts[query]; i += kThreads) {
        rows[query * from.capacity + i] = RowOfKey(from.of(query)[i]);
      }
    });
  }
};

// Scores the rows of each query's list as ScanRows does; their keys go to the same places.
struct ScoreLists {
  using Scan = ScanRows<8, 1>;
  static constexpr int kThreads = Scan::kThreads;
  static constexpr int kBlocksAtOnce = Scan::kBlocksAtOnce;
  struct Shared {};

  ScanTask task;  // of one query, with nothing of lists
  int blocks_of_query = 1;
  const uint32_t* lists = nullptr;  // to.capacity a query
  const int* counts = nullptr;
  KeyTable to;

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    const int query = block.index() / blocks_of_query;
    Scan scan{task};
    scan.queries += int64_t{query} * task.layout.numbers;
    scan.query_count = 1;
    scan.list = lists + query * to.capacity;
    scan.begin = 0;
    scan.end = counts[query];
    scan.found = {to.of(query), to.capacity, nullptr};
    scan.dense = true;
    block.Warps([&](auto& warp) {
      const int64_t step = int64_t{blocks_of_query} * Scan::kRowsOfBlock;
      int64_t first = int64_t{block.index() % blocks_of_query} * Scan::kRowsOfBlock +
                      warp.index() * Scan::kRowsOfWarp;
      for (; first < scan.end; first += step) scan.ScanTile(warp, first);
    });
  }
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_BATCH_KERNELS_H_
