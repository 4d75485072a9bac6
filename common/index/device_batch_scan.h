// A scan of many queries on a device, by products of float16 that a library makes.
//
// These are fast, and rough: a query is rounded to float16, and sums are in an order of the
// library's own.  So somewhat more rows than are wanted are kept by their rough scores, and scored
// as ScanRows does, with the CPU's bits.  A list is proven if its last row beats what the last one
// kept could have; what is not is left to the scan of device_flat_scan.h.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_BATCH_SCAN_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_BATCH_SCAN_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/base/float16.h"
#include "common/base/status_macros.h"
#include "common/device/device_array.h"
#include "common/device/product.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/block_lengths.h"
#include "common/index/device_batch_kernels.h"
#include "common/index/device_kernels.h"
#include "common/index/device_layout.h"
#include "common/index/device_scan_memory.h"
#include "common/index/vector_index.h"
#include "common/kernels/inner_products.h"

namespace sightline {

// Rows on a device, arranged by `layout`.
struct DeviceRows {
  DeviceLayout layout;
  const uint16_t* numbers = nullptr;
  int64_t count = 0;
  float longest = 0;  // at least the length of each row; infinite: nothing is known
};

template <typename Device, typename Products>
class DeviceBatchScan {
 public:
  using List = absl::optional<std::vector<Neighbor>>;

  // From so many on it is worth it.
  static constexpr int kLeastQueries = 16;

  // All that a search takes, once.  `device` outlives the object.
  absl::Status Reserve(Device* device, int dimension) {
    const BatchSizes sizes{DeviceLayout(dimension)};
    ASSIGN_OR_RETURN(products_, Products::Open(device));
    RETURN_IF_ERROR(halves_.Reserve(device, sizes.queries));
    RETURN_IF_ERROR(queries_.Reserve(device, sizes.queries));
    RETURN_IF_ERROR(scores_.Reserve(device, sizes.scores));
    RETURN_IF_ERROR(keys_[0].Reserve(device, sizes.keys));
    RETURN_IF_ERROR(keys_[1].Reserve(device, sizes.keys));
    RETURN_IF_ERROR(best_.Reserve(device, sizes.best));
    RETURN_IF_ERROR(exact_.Reserve(device, sizes.best));
    RETURN_IF_ERROR(listed_.Reserve(device, sizes.best));
    RETURN_IF_ERROR(state_.Reserve(device, 1));
    RETURN_IF_ERROR(host_halves_.Reserve(device, sizes.queries));
    RETURN_IF_ERROR(host_queries_.Reserve(device, sizes.queries));
    RETURN_IF_ERROR(host_exact_.Reserve(device, sizes.best));
    RETURN_IF_ERROR(host_state_.Reserve(device, 1));
    RETURN_IF_ERROR(device->template Prepare<OfferScores>());
    RETURN_IF_ERROR(device->template Prepare<ListRows>());
    return device->template Prepare<ScoreLists>();
  }

  // Whether it can be asked for so many.
  static bool Serves(const DeviceRows& rows, int top_k) {
    return std::isfinite(rows.longest) && rows.count >= kLeastBatchRows &&
           AskedFor(top_k) <= kMostBatchBest;
  }

  // Of queries `first` to before `first` + `count`, at most kBatchQueries; of those whose list is
  // not proven none.  `among`: bits of the device's, or null.  Waits for the device.
  absl::StatusOr<std::vector<List>> Search(Device* device, const DeviceRows& rows,
                                           const EmbeddingMatrix& queries, int64_t first, int count,
                                           int top_k, const uint64_t* among) {
    rows_of_ = &rows;
    among_ = among;
    count_ = count;
    asked_ = AskedFor(top_k);
    const std::vector<float> errors = TakeQueries(queries, first);
    const int64_t numbers = int64_t{count} * rows.layout.numbers;
    RETURN_IF_ERROR(device->CopyIn(halves_.data(), host_halves_.data(), numbers * 2));
    RETURN_IF_ERROR(device->CopyIn(queries_.data(), host_queries_.data(), numbers * 4));
    RETURN_IF_ERROR(device->Clear(state_.data(), sizeof(BatchState)));
    RETURN_IF_ERROR(Scan(device));
    RETURN_IF_ERROR(ScoreBest(device));
    RETURN_IF_ERROR(device->CopyOut(host_state_.data(), state_.data(), sizeof(BatchState)));
    RETURN_IF_ERROR(
        device->CopyOut(host_exact_.data(), exact_.data(), int64_t{count} * asked_ * 8));
    RETURN_IF_ERROR(device->Wait());
    std::vector<List> lists;
    for (int i = 0; i < count; ++i) lists.push_back(ListOf(i, top_k, errors[i]));
    return lists;
  }

 private:
  // Beyond k, for which it takes hardly longer.
  static int AskedFor(int top_k) { return 2 * top_k + 64; }

  // Arranges them; how far each one's rough scores may be off, infinite where nothing is known.
  std::vector<float> TakeQueries(const EmbeddingMatrix& queries, int64_t first) {
    const DeviceLayout& layout = rows_of_->layout;
    std::vector<uint16_t> halves(layout.dimension);
    std::vector<float> rounded(layout.dimension);
    std::vector<float> errors;
    for (int i = 0; i < count_; ++i) {
      const float* const query = queries.row(first + i).data();
      Float32ToFloat16(query, layout.dimension, reinterpret_cast<char*>(halves.data()));
      Float16ToFloat32(reinterpret_cast<const char*>(halves.data()), layout.dimension,
                       rounded.data());
      layout.ArrangeQuery(query, host_queries_.data() + int64_t{i} * layout.numbers);
      layout.ArrangeRow(halves.data(), host_halves_.data() + int64_t{i} * layout.numbers);
      const double longest = rows_of_->longest;
      const double length = std::max(LengthAbove(query, layout.dimension),
                                     LengthAbove(rounded.data(), layout.dimension));
      for (int j = 0; j < layout.dimension; ++j) rounded[j] = query[j] - rounded[j];
      const double lost = LengthAbove(rounded.data(), layout.dimension);
      const double error =
          lost * longest * (1 + 0x1p-20) +
          kSumsOfLibrary * kernels::InnerProductError(layout.dimension, length, longest);
      errors.push_back(
          std::nextafter(static_cast<float>(error), std::numeric_limits<float>::infinity()));
    }
    return errors;
  }

  // Leaves the best `asked_` keys of each query, by rough scores, in Best().
  absl::Status Scan(Device* device) {
    // A floor from rows all over the matrix, which come again with all others.
    RETURN_IF_ERROR(Offer(device, 0, rows_of_->count / kBatchKeys, kBatchKeys, TableOf(0)));
    RETURN_IF_ERROR(Select(device, TableOf(0), TableOf(1)));
    RETURN_IF_ERROR(device->Clear(TableOf(0).counts, sizeof(BatchState::counts[0])));
    int table = 0;
    for (int64_t seen = 0; seen < rows_of_->count; table = 1 - table) {
      const int64_t end = std::min(seen + StretchAfter(seen), rows_of_->count);
      while (seen < end) {
        const int64_t rows = std::min(kBatchRows, end - seen);
        RETURN_IF_ERROR(Offer(device, seen, 1, rows, TableOf(table)));
        seen += rows;
      }
      const bool is_last = seen == rows_of_->count;
      RETURN_IF_ERROR(Select(device, TableOf(table), is_last ? Best() : TableOf(1 - table)));
    }
    return absl::OkStatus();
  }

  // As DeviceFlatScan::ChunkAfter: rows after so many that are expected to leave a quarter of the
  // room, when those asked for of the ones before were the best.
  int64_t StretchAfter(int64_t seen) const {
    const int64_t room = kBatchKeys - asked_;
    return std::max(room, std::max(seen, kBatchKeys) * room / (4 * int64_t{asked_}));
  }

  // Of `row_count` <= kBatchRows rows from `begin` on, each `stride` from the next.
  absl::Status Offer(Device* device, int64_t begin, int64_t stride, int64_t row_count,
                     KeyTable found) {
    const int numbers = rows_of_->layout.numbers;
    device::HalfProduct product;
    product.rows = rows_of_->numbers + begin * numbers;
    product.row_stride = stride * numbers;
    product.row_count = static_cast<int>(row_count);
    product.queries = halves_.data();
    product.query_count = count_;
    product.numbers = numbers;
    product.out = scores_.data();
    RETURN_IF_ERROR(products_->Multiply(device, product));
    OfferScores offer;
    offer.scores = scores_.data();
    offer.begin = begin;
    offer.stride = stride;
    offer.row_count = product.row_count;
    offer.query_count = count_;
    offer.among = among_;
    offer.floors = state_.data()->floors;
    offer.found = found;
    const int64_t blocks = (row_count * count_ + OfferScores::kThreads - 1) / OfferScores::kThreads;
    const int64_t most = device->template MostBlocks<OfferScores>();
    return device->Launch(static_cast<int>(std::min(blocks, most)), offer);
  }

  absl::Status Select(Device* device, KeyTable from, KeyTable to) {
    SelectBest select;
    select.from = from;
    select.k = asked_;
    select.to = to;
    select.floors = state_.data()->floors;
    select.overflows = state_.data()->overflows;
    return device->Launch(count_, select);
  }

  // Leaves the exact keys of what is in Best() at the same places of exact_.
  absl::Status ScoreBest(Device* device) {
    RETURN_IF_ERROR(device->Launch(count_, ListRows{Best(), listed_.data()}));
    ScoreLists score{ScanTask{rows_of_->layout}};
    score.task.rows = rows_of_->numbers;
    score.task.queries = queries_.data();
    score.blocks_of_query =
        (asked_ + ScoreLists::Scan::kRowsOfBlock - 1) / ScoreLists::Scan::kRowsOfBlock;
    score.lists = listed_.data();
    score.counts = Best().counts;
    score.to = {exact_.data(), asked_, nullptr};
    return device->Launch(count_ * score.blocks_of_query, score);
  }

  // Of what was copied.  No row that is not among the best by rough scores has one above the floor.
  List ListOf(int query, int top_k, float error) const {
    const BatchState& state = *host_state_.data();
    if (state.overflows[query] != 0 || !std::isfinite(error)) return absl::nullopt;
    uint64_t* const begin = host_exact_.data() + int64_t{query} * asked_;
    uint64_t* const end = begin + state.best_counts[query];
    std::sort(begin, end, std::greater<>());
    std::vector<Neighbor> list;
    for (const uint64_t* key = begin; key != end && static_cast<int>(list.size()) < top_k; ++key) {
      if (*key != 0) list.push_back(NeighborOf(*key));
    }
    const uint64_t floor = state.floors[query];
    if (floor == 0) return list;  // of all rows that may be found
    const bool proven = static_cast<int>(list.size()) == top_k &&
                        double{NeighborOf(floor).score} + error < list.back().score;
    return proven ? List(std::move(list)) : absl::nullopt;
  }

  KeyTable TableOf(int table) const {
    return {keys_[table].data(), kBatchKeys, state_.data()->counts[table]};
  }
  KeyTable Best() const { return {best_.data(), asked_, state_.data()->best_counts}; }

  // How far sums of a library may be off, by what sums of ours may: tensor cores cut off what sums
  // of theirs have no room for (Fasi et al., 2021).
  static constexpr double kSumsOfLibrary = 8;

  absl::optional<Products> products_;
  device::DeviceArray<Device, uint16_t> halves_;  // queries as rows
  device::DeviceArray<Device, float> queries_, scores_;
  device::DeviceArray<Device, uint64_t> keys_[2], best_, exact_;
  device::DeviceArray<Device, uint32_t> listed_;
  device::DeviceArray<Device, BatchState> state_;
  device::HostArray<Device, uint16_t> host_halves_;
  device::HostArray<Device, float> host_queries_;
  device::HostArray<Device, uint64_t> host_exact_;
  device::HostArray<Device, BatchState> host_state_;
  // Of the search under way.
  const DeviceRows* rows_of_ = nullptr;
  const uint64_t* among_ = nullptr;
  int count_ = 0;
  int asked_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_BATCH_SCAN_H_
