// The two kernels of an exact search on a device: rows scanned for what is better than a floor, and
// the best of what was found, which raises the floor.
//
// A row and its score are one number, the key, so that an order of keys is the order of
// VectorIndex::Search: higher scores first, then lower rows.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_KERNELS_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_KERNELS_H_

#include <cstdint>

#include "common/device/block.h"
#include "common/index/device_layout.h"

namespace sightline {

// Not zero, which is no row.  `score` is a number and not -0; `row` < 2^32 - 1.
SIGHTLINE_DEVICE uint64_t KeyOf(float score, uint32_t row) {
  const uint32_t bits = device::BitsOf(score);
  const uint32_t ascending = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return uint64_t{ascending} << 32 | (0xFFFFFFFFu - row);
}

// Queries that share a reading of the rows: a group.
inline constexpr int kQueriesOfGroup = 8;

// Keys of each query of a group, `capacity` a query.
struct KeyTable {
  uint64_t* keys = nullptr;
  int64_t capacity = 0;
  int* counts = nullptr;  // of keys that were offered; beyond the capacity they are lost

  SIGHTLINE_DEVICE uint64_t* of(int query) const { return keys + query * capacity; }
};

// What ScanRows is told.
struct ScanTask {
  DeviceLayout layout;
  const uint16_t* rows = nullptr;  // arranged by `layout`
  const float* queries = nullptr;  // likewise, as many as are compared at once; beyond query_count
  int query_count = 0;             // they may be anything
  // Scanned are the places `begin` to before `end`, each `stride` rows from the next; if `list` is
  // not null, its numbers so, which are rows.
  int64_t begin = 0, end = 0, stride = 1;
  const uint32_t* list = nullptr;
  const uint64_t* among = nullptr;  // bits of rows that may be found; null: all
  // Offered are keys above a query's floor.  If `dense`, instead, each place has its row's key:
  // `begin` is the first; zero is none.
  const uint64_t* floors = nullptr;
  KeyTable found;
  bool dense = false;
};

// Scores rows with queries by the sums of row_scores.h: `kRows` of a warp at once, so that it reads
// `kQueries` for all of them once.
template <int kRows, int kQueries>
struct ScanRows : ScanTask {
  static constexpr int kThreads = 256;
  static constexpr int kBlocksAtOnce = 2;
  static constexpr int kRowsOfWarp = kRows;
  static constexpr int kRowsOfBlock = kThreads / device::kLanes * kRows;
  struct Shared {};

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    block.Warps([&](auto& warp) {
      const int64_t step = int64_t{block.count()} * kRowsOfBlock;
      int64_t first = begin + int64_t{block.index()} * kRowsOfBlock + warp.index() * kRows;
      for (; first < end; first += step) ScanTile(warp, first);
    });
  }

  // Of a warp's rows, the first of which is at place `first`.
  template <typename Warp>
  SIGHTLINE_DEVICE void ScanTile(Warp& warp, int64_t first) const {
    bool any = false;
    for (int r = 0; r < kRows; ++r) any = any || MayBeFound(first + r);
    if (!any) return OfferNone(warp, first);
    device::PerLane<float> sums[kProducts];
    warp.Step([&](int lane) {
      float own[kProducts];
      SumOwn(first, lane, own);
      SIGHTLINE_UNROLL
      for (int i = 0; i < kProducts; ++i) sums[i][lane] = own[i];
    });
    AddLanes<kProducts, 0>(warp, sums);
    warp.Step([&](int lane) {
      int product = 0;
      if (!EndsWith(lane, &product)) return;
      const int query = product % kQueries;
      const int64_t place = first + product / kQueries;
      if (query >= query_count || place >= end) return;
      // As there, no score is -0.
      const float score =
          device::Plus(device::Plus(sums[0][lane], SumOfRest(RowAt(place), query)), 0.0f);
      const bool counts = score == score && MayBeFound(place);
      Offer(query, place, counts ? KeyOf(score, RowAt(place)) : 0);
    });
  }

 private:
  static constexpr int kProducts = kRows * kQueries;
  static constexpr int kSteps = 5;
  static_assert(device::kLanes % kProducts == 0, "at the end a lane has one product");

  // As row_scores.cc adds its four sums of eight, and these up: lanes that differ in these bits,
  // one after the other.
  SIGHTLINE_DEVICE static constexpr int BitOf(int step) {
    return step == 0 ? 8 : step == 1 ? 16 : 4 >> (step - 2);
  }

  SIGHTLINE_DEVICE uint32_t RowAt(int64_t place) const {
    if (place >= end) place = end - 1;
    return list != nullptr ? list[place * stride] : static_cast<uint32_t>(place * stride);
  }

  SIGHTLINE_DEVICE bool MayBeFound(int64_t place) const {
    if (place >= end) return false;
    const uint32_t row = RowAt(place);
    return among == nullptr || (among[row >> 6] >> (row & 63) & 1) != 0;
  }

  // A lane's own part of each product, of row r and query q at r * kQueries + q.
  SIGHTLINE_DEVICE void SumOwn(int64_t first, int lane, float (&sums)[kProducts]) const {
    constexpr int kFour = DeviceLayout::kFour;
    const uint16_t* row[kRows];
    SIGHTLINE_UNROLL
    for (int r = 0; r < kRows; ++r) row[r] = rows + int64_t{RowAt(first + r)} * layout.numbers;
    SIGHTLINE_UNROLL
    for (int i = 0; i < kProducts; ++i) sums[i] = 0;
    for (int group = 0; group < layout.groups; ++group) {
      const int at = group * DeviceLayout::kGroup;
      uint16_t halves[kRows][DeviceLayout::kBlocksOfGroup];
      SIGHTLINE_UNROLL
      for (int r = 0; r < kRows; ++r) {
        device::ReadOnce(row[r] + at + lane * DeviceLayout::kBlocksOfGroup, halves[r]);
      }
      SIGHTLINE_UNROLL
      for (int j = 0; j < DeviceLayout::kBlocksOfGroup; j += kFour) {
        SIGHTLINE_UNROLL
        for (int q = 0; q < kQueries; ++q) {
          float query[kFour];
          device::ReadFour(
              queries + q * layout.numbers + at + (j * DeviceLayout::kBlock + lane * kFour), query);
          SIGHTLINE_UNROLL
          for (int i = 0; i < kFour; ++i) {
            SIGHTLINE_UNROLL
            for (int r = 0; r < kRows; ++r) {
              sums[r * kQueries + q] = device::MultiplyAdd(
                  query[i], device::Widened(halves[r][j + i]), sums[r * kQueries + q]);
            }
          }
        }
      }
    }
    if (lane >= 8) return;
    for (int eight = 0; eight < layout.eights; ++eight) {
      const int at = layout.groups * DeviceLayout::kGroup + eight * 8 + lane;
      SIGHTLINE_UNROLL
      for (int i = 0; i < kProducts; ++i) {
        sums[i] = device::MultiplyAdd(queries[i % kQueries * layout.numbers + at],
                                      device::Widened(row[i / kQueries][at]), sums[i]);
      }
    }
  }

  // Adds lanes' sums of `n` products from `step` on: while there are several, who has the step's
  // bit goes on with the second half of them, the other with the first.
  template <int n, int step, typename Warp>
  SIGHTLINE_DEVICE static void AddLanes(Warp& warp, device::PerLane<float> (&sums)[kProducts]) {
    constexpr int kHalf = n / 2;
    constexpr int kBit = BitOf(step);
    SIGHTLINE_UNROLL
    for (int i = 0; i < (kHalf == 0 ? 1 : kHalf); ++i) {
      device::PerLane<float> other;
      warp.Step([&](int lane) {
        other[lane] = (lane & kBit) != 0 ? sums[i][lane] : sums[i + kHalf][lane];
      });
      const device::PerLane<float> got = warp.Xor(other, kBit);
      warp.Step([&](int lane) {
        const float own = (lane & kBit) != 0 ? sums[i + kHalf][lane] : sums[i][lane];
        sums[i][lane] = device::Plus(own, got[lane]);
      });
    }
    if constexpr (step + 1 < kSteps) AddLanes<(kHalf == 0 ? 1 : kHalf), step + 1>(warp, sums);
  }

  // The product that a lane has after that; of lanes that have the same one says so.
  SIGHTLINE_DEVICE static bool EndsWith(int lane, int* product) {
    int half = kProducts / 2;
    bool first = true;
    SIGHTLINE_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      const bool has = (lane & BitOf(step)) != 0;
      if (has && half > 0) *product += half;
      if (has && half == 0) first = false;
      half /= 2;
    }
    return first;
  }

  SIGHTLINE_DEVICE float SumOfRest(uint32_t row, int query) const {
    const int at = layout.groups * DeviceLayout::kGroup + layout.eights * 8;
    float sum = 0;
    for (int i = 0; i < layout.rest; ++i) {
      sum = device::MultiplyAdd(queries[query * layout.numbers + at + i],
                                device::Widened(rows[int64_t{row} * layout.numbers + at + i]), sum);
    }
    return sum;
  }

  // Of a warp's rows none may be found.
  template <typename Warp>
  SIGHTLINE_DEVICE void OfferNone(Warp& warp, int64_t first) const {
    if (!dense) return;
    warp.Step([&](int lane) {
      const int query = lane % kQueries;
      const int64_t place = first + lane / kQueries;
      if (lane < kProducts && query < query_count && place < end) Offer(query, place, 0);
    });
  }

  SIGHTLINE_DEVICE void Offer(int query, int64_t place, uint64_t key) const {
    if (dense) {
      found.of(query)[place - begin] = key;
    } else if (key > floors[query]) {
      const int slot = device::AtomicAdd(found.counts + query, 1);
      if (slot < found.capacity) found.of(query)[slot] = key;
    }
  }
};

// Of each query, a block's, the best k keys of `from`, in no order; and a floor below them, where
// there are k.
struct SelectBest {
  static constexpr int kThreads = 1024;
  static constexpr int kBlocksAtOnce = 1;
  static constexpr int kOwn = 16;  // keys that a thread holds
  static constexpr int kMostKeys = kOwn * kThreads;
  static constexpr int kBits = 64;
  struct Shared {
    int reaching[kBits];  // keys that reached the bound which was tried for this bit
    int taken;
  };

  KeyTable from;         // of at most kMostKeys a query
  int dense_count = -1;  // keys of each query; negative: from.counts says it
  int k = 0;
  KeyTable to;                 // of at least k a query
  uint64_t* floors = nullptr;  // of each query; null: nobody asks
  int* overflows = nullptr;    // of each query: set where keys were lost

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& shared) const {
    Select(block, shared, block.index());
  }

  // Of one query.
  template <typename Block>
  SIGHTLINE_DEVICE void Select(Block& block, Shared& shared, int query) const {
    int count = dense_count >= 0 ? dense_count : from.counts[query];
    const bool lost = count > from.capacity;
    if (lost) count = static_cast<int>(from.capacity);
    const int used = (count + kThreads - 1) / kThreads;  // of each thread's kOwn
    Keys keys[kOwn];
    block.Step([&](int thread) {
      SIGHTLINE_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        const int place = i * kThreads + thread;
        keys[i][thread] = place < count ? from.of(query)[place] : 0;
      }
      if (thread < kBits) shared.reaching[thread] = 0;
      if (thread == 0) shared.taken = 0;
      if (thread == 0 && lost) overflows[query] = 1;
    });
    const uint64_t bound = count > k ? BoundOfBest(block, shared, keys, used) : 0;
    block.Step([&](int thread) {
      SIGHTLINE_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        const uint64_t key = keys[i][thread];
        if (key != 0 && key >= bound) to.of(query)[device::AtomicAdd(&shared.taken, 1)] = key;
      }
    });
    block.Step([&](int thread) {
      if (thread != 0) return;
      to.counts[query] = shared.taken;
      if (floors != nullptr && shared.taken == k && bound != 0) floors[query] = bound - 1;
    });
  }

 private:
  using Keys = device::PerThread<uint64_t, kThreads>;

  // A bound that k of more than k keys reach, and no others; 0 if fewer than k are rows.
  template <typename Block>
  SIGHTLINE_DEVICE uint64_t BoundOfBest(Block& block, Shared& shared, Keys (&keys)[kOwn],
                                        int used) const {
    uint64_t bound = 0;
    for (int bit = kBits - 1; bit >= 0; --bit) {
      const uint64_t tried = bound | uint64_t{1} << bit;
      CountReaching(block, keys, used, tried, &shared.reaching[bit]);
      if (shared.reaching[bit] >= k) bound = tried;
      if (shared.reaching[bit] == k) break;
    }
    return bound;
  }

  template <typename Block>
  SIGHTLINE_DEVICE static void CountReaching(Block& block, Keys (&keys)[kOwn], int used,
                                             uint64_t bound, int* total) {
    block.Warps([&](auto& warp) {
      device::PerLane<int> count;
      warp.Step([&](int lane) {
        const int thread = warp.index() * device::kLanes + lane;
        int own = 0;
        SIGHTLINE_UNROLL
        for (int i = 0; i < kOwn; ++i) own += i < used && keys[i][thread] >= bound ? 1 : 0;
        count[lane] = own;
      });
      const int sum = warp.Sum(count);
      warp.Step([&](int lane) {
        if (lane == 0) device::AtomicAdd(total, sum);
      });
    });
  }
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_KERNELS_H_
