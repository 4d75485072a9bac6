// The kernels of a search in lists on a device, beside those of device_kernels.h: the rows of many
// stretches of lists scored, each with the query that looks into it, and the best of these.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_LIST_KERNELS_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_LIST_KERNELS_H_

#include <cstdint>

#include "common/device/block.h"
#include "common/index/device_kernels.h"

namespace sightline {

// Some of the rows of a list, for one query.
struct ListPiece {
  int64_t first = 0;  // position of the first one
  int64_t key = 0;    // where the keys of its rows go
  int32_t count = 0;
  int32_t query = 0;
};

// Keys of one query that lie side by side, of as many pieces as it takes.
struct ListPart {
  int64_t key = 0;    // the first
  int64_t count = 0;  // at most SelectBest::kMostKeys
};

// Scores the rows of each piece as ScanRows does; each has a key, zero if it may not be found.
struct ScanPieces {
  using Scan = ScanRows<8, 1>;
  static constexpr int kThreads = Scan::kThreads;
  static constexpr int kBlocksAtOnce = Scan::kBlocksAtOnce;
  struct Shared {};

  ScanTask task;  // its list has the row at each position; nothing is said of places
  const ListPiece* pieces = nullptr;
  int piece_count = 0;
  uint64_t* keys = nullptr;

  // A block for each piece, and for others after it.
  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    block.Warps([&](auto& warp) {
      for (int i = block.index(); i < piece_count; i += block.count()) ScanPiece(warp, pieces[i]);
    });
  }

 private:
  template <typename Warp>
  SIGHTLINE_DEVICE void ScanPiece(Warp& warp, const ListPiece& piece) const {
    Scan scan{task};
    scan.queries += int64_t{piece.query} * task.layout.numbers;
    scan.query_count = 1;
    scan.begin = piece.first;
    scan.end = piece.first + piece.count;
    scan.found = {keys + piece.key, piece.count, nullptr};
    scan.dense = true;
    int64_t first = scan.begin + warp.index() * Scan::kRowsOfWarp;
    for (; first < scan.end; first += Scan::kRowsOfBlock) scan.ScanTile(warp, first);
  }
};

// The best k keys of each part, a block's, in no order.
struct SelectOfParts {
  static constexpr int kThreads = SelectBest::kThreads;
  static constexpr int kBlocksAtOnce = SelectBest::kBlocksAtOnce;
  using Shared = SelectBest::Shared;

  const ListPart* parts = nullptr;
  uint64_t* keys = nullptr;
  int k = 0;
  uint64_t* best = nullptr;  // k a part
  int* counts = nullptr;     // of these, of each part

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& shared) const {
    const ListPart part = parts[block.index()];
    SelectBest select;
    select.from = {keys + part.key, part.count, nullptr};
    select.dense_count = static_cast<int>(part.count);
    select.k = k;
    select.to = {best + int64_t{block.index()} * k, k, counts + block.index()};
    select.Select(block, shared, /*query=*/0);
  }
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_LIST_KERNELS_H_
