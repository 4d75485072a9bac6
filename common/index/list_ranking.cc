#include "common/index/list_ranking.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/index/best_estimates.h"
#include "common/index/nibble_codes.h"
#include "common/index/prefetch.h"
#include "common/kernels/cpu.h"
#include "common/kernels/int8_rows.h"
#include "common/kernels/nibble_scan.h"

namespace sightline {
namespace {

// Fewer are multiplied in the time of a look at their codes.
constexpr int64_t kLeastCoded = 512;
// Estimated lists for each that is wanted, as a share, and some more.
constexpr double kPromising = 1.25;
constexpr int64_t kMorePromising = 16;
// Blocks of codes that are scanned between two looks at the limit.
constexpr int64_t kBlocksAtOnce = 8;
// Centroids whose products are waited for while others are multiplied.
constexpr int64_t kAhead = 6;

bool HasCodes(const IvfShape& shape) {
  return shape.lists >= kLeastCoded;
}

}  // namespace

CodeSpace CodeSpaceOf(const IvfFile& file) {
  const IvfShape& shape = file.shape;
  if (shape.axes == 0) return CodeSpace(shape.dimension, shape.seed);
  return CodeSpace(file.axes(), file.axis_scales(), shape.axes, shape.dimension, shape.seed);
}

int64_t ListRanking::ByteCount(const IvfShape& shape) {
  if (!HasCodes(shape)) return 0;
  return kernels::NibbleBlocks(shape.lists) * kernels::NibbleBlockBytes(shape.space_groups(), true);
}

ListRanking::ListRanking(const IvfFile& file, const CodeSpace& space)
    : file_(file), blocks_(ByteCount(file.shape)) {
  if (blocks_.empty()) return;
  const int64_t lists = file.shape.lists, dimension = file.shape.dimension, size = space.size();
  std::vector<float> centroid(dimension), mean(dimension);
  std::vector<double> sum(dimension);
  for (int64_t list = 0; list < lists; ++list) {
    file.DecodeCentroid(list, centroid.data());
    for (int64_t j = 0; j < dimension; ++j) sum[j] += centroid[j];
  }
  for (int64_t j = 0; j < dimension; ++j) {
    mean[j] = static_cast<float>(sum[j] / static_cast<double>(lists));
  }
  std::vector<float> placed(size), placed_mean(size);
  space.Place(mean.data(), dimension, placed_mean.data());
  const int64_t group_count = file.shape.space_groups();
  std::vector<uint8_t> groups(group_count);
  const int64_t block_bytes = kernels::NibbleBlockBytes(group_count, true);
  for (int64_t list = 0; list < lists; ++list) {
    file.DecodeCentroid(list, centroid.data());
    space.Place(centroid.data(), dimension, placed.data());
    NibbleScalars scalars =
        EncodeBits(ProductsOf(centroid.data(), mean.data(), dimension), placed.data(),
                   placed_mean.data(), size, file.shape.bits, groups.data());
    scalars.offset += file.reaches()[list];
    if (file.is_empty(list)) scalars = kLastOfAll;
    uint8_t* const block = blocks_.data() + list / kernels::kNibbleBlockRows * block_bytes;
    const int64_t place = list % kernels::kNibbleBlockRows;
    kernels::StoreNibbles(groups.data(), group_count, place, block);
    kernels::StoreNibbleScalars(scalars.slope, scalars.offset, group_count, place, block);
  }
}

std::vector<RankedList> ListRanking::Best(const IvfQuery& query, int64_t count) const {
  const int64_t lists = file_.shape.lists;
  count = std::min(count, lists);
  const int64_t promising =
      static_cast<int64_t>(kPromising * static_cast<double>(count)) + kMorePromising;
  std::vector<int32_t> looked_at;
  if (!blocks_.empty() && promising < lists / 2) {
    looked_at = Promising(query, promising);
  } else {
    looked_at.resize(lists);
    std::iota(looked_at.begin(), looked_at.end(), 0);
  }
  const kernels::Int8RowKernel& kernel = kernels::Int8RowKernelFor(kernels::ThisCpu());
  const int64_t bytes = file_.shape.centroid_bytes();
  std::vector<RankedList> ranked;
  ranked.reserve(looked_at.size());
  for (size_t i = 0; i < looked_at.size(); ++i) {
    if (i + kAhead < looked_at.size()) {
      const int8_t* const ahead = file_.centroid(looked_at[i + kAhead]);
      PrefetchBytes(ahead, bytes);
    }
    const int32_t list = looked_at[i];
    if (file_.is_empty(list)) continue;
    const int32_t sum = kernel.product(query.codes.codes.data(), file_.centroid(list), bytes);
    const float product =
        kernels::Int8Product(query.codes, {file_.centroid_scales()[list], 0, 0}, sum);
    ranked.push_back({list, product, product + file_.reaches()[list]});
  }
  const auto before = [](const RankedList& a, const RankedList& b) {
    return a.promise != b.promise ? a.promise > b.promise : a.list < b.list;
  };
  if (count < static_cast<int64_t>(ranked.size())) {
    std::nth_element(ranked.begin(), ranked.begin() + count, ranked.end(), before);
    ranked.resize(count);
  }
  std::sort(ranked.begin(), ranked.end(), before);
  return ranked;
}

std::vector<RankedList> ListRanking::BestHolding(const IvfQuery& query, int64_t count,
                                                 int64_t rows) const {
  std::vector<RankedList> lists = Best(query, count);
  int64_t held = 0;
  for (const RankedList& list : lists) held += file_.row_count(list.list);
  if (held >= rows || count >= file_.shape.lists) return lists;
  std::vector<bool> taken(file_.shape.lists);
  for (const RankedList& list : lists) taken[list.list] = true;
  for (const RankedList& list : Best(query, file_.shape.lists)) {
    if (held >= rows) break;
    if (taken[list.list]) continue;
    lists.push_back(list);
    held += file_.row_count(list.list);
  }
  return lists;
}

std::vector<int32_t> ListRanking::Promising(const IvfQuery& query, int64_t count) const {
  const kernels::NibbleScanKernel& kernel = kernels::NibbleScanKernelFor(kernels::ThisCpu());
  const int64_t lists = file_.shape.lists;
  const int64_t blocks = kernels::NibbleBlocks(lists);
  const int64_t block_bytes = static_cast<int64_t>(blocks_.size()) / blocks;
  BestEstimates best(count);
  uint32_t masks[kBlocksAtOnce];
  float estimates[kBlocksAtOnce * kernels::kNibbleBlockRows];
  kernels::NibbleScan scan = query.bits.Scan();
  scan.scalars = true;
  for (int64_t first = 0; first < blocks; first += kBlocksAtOnce) {
    scan.blocks = blocks_.data() + first * block_bytes;
    scan.block_count = std::min(kBlocksAtOnce, blocks - first);
    scan.limit = best.limit();
    std::fill_n(masks, kBlocksAtOnce, ~0u);
    kernel.scan(scan, masks, estimates);
    for (int64_t b = 0; b < scan.block_count; ++b) {
      for (uint32_t mask = masks[b]; mask != 0; mask &= mask - 1) {
        const int64_t place = b * kernels::kNibbleBlockRows + __builtin_ctz(mask);
        const int64_t list = first * kernels::kNibbleBlockRows + place;
        if (list < lists) best.Offer(estimates[place], static_cast<int32_t>(list));
      }
    }
  }
  std::vector<int32_t> promising;
  for (const Estimate& estimate : best.Take()) promising.push_back(estimate.row);
  // In the order of memory.
  std::sort(promising.begin(), promising.end());
  return promising;
}

}  // namespace sightline
