// A search of lists on a device: of each query the rows of some lists are scored, all of them and
// exactly, and the best are kept.
//
// Codes are not read: they save reading, which a device has the most of, and what they would leave
// out is found.  Rows lie in their own order, and beside them the row at each position
// of the lists.  The host cuts what the queries look into into pieces, which are copied and scored
// at once; each row has a key in memory that is shared by all, and of at most 16 384 keys of a
// query, a part, the best k are selected.  The parts of a query are put together on the host.  What
// has no room in one pass is the next one's, be it of the same query; so a pass waits for the
// device once, and no key is ever lost.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_LIST_SCAN_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_LIST_SCAN_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/status_macros.h"
#include "common/device/device_array.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/device_batch_scan.h"
#include "common/index/device_kernels.h"
#include "common/index/device_list_kernels.h"
#include "common/index/device_scan.h"
#include "common/index/device_scan_memory.h"
#include "common/index/vector_index.h"

namespace sightline {

template <typename Device>
class DeviceListScan {
 public:
  // Once, for the rows of `order`, which is not empty, in memory for passes of `sizes`: each has
  // room for a row and for a list that is as long as any that is asked for.  Waits for the device,
  // which outlives the object.
  absl::Status Reserve(Device* device, const ListSizes& sizes, absl::Span<const int32_t> order) {
    sizes_ = sizes;
    RETURN_IF_ERROR(order_.Reserve(device, sizes_.order));
    RETURN_IF_ERROR(queries_.Reserve(device, sizes_.queries));
    RETURN_IF_ERROR(pieces_.Reserve(device, sizes_.pieces));
    RETURN_IF_ERROR(parts_.Reserve(device, sizes_.parts));
    RETURN_IF_ERROR(keys_.Reserve(device, sizes_.keys));
    RETURN_IF_ERROR(best_.Reserve(device, sizes_.best));
    RETURN_IF_ERROR(counts_.Reserve(device, sizes_.parts));
    RETURN_IF_ERROR(host_queries_.Reserve(device, sizes_.queries));
    RETURN_IF_ERROR(host_pieces_.Reserve(device, sizes_.pieces));
    RETURN_IF_ERROR(host_parts_.Reserve(device, sizes_.parts));
    RETURN_IF_ERROR(host_best_.Reserve(device, sizes_.best));
    RETURN_IF_ERROR(host_counts_.Reserve(device, sizes_.parts));
    RETURN_IF_ERROR(device->template Prepare<ScanPieces>());
    RETURN_IF_ERROR(device->template Prepare<SelectOfParts>());
    // Waited for in any case: what is copied may go.
    const absl::Status copied = device->CopyIn(order_.data(), order.data(), sizes_.order * 4);
    const absl::Status done = device->Wait();
    RETURN_IF_ERROR(copied);
    return done;
  }

  // As DeviceScan::SearchRanges; `among`: bits of the device's, or null.
  absl::StatusOr<NeighborLists> Search(Device* device, const DeviceRows& rows,
                                       const EmbeddingMatrix& queries,
                                       absl::Span<const RowRanges> ranges, int top_k,
                                       const uint64_t* among, const CallContext& call) {
    device_ = device;
    rows_of_ = &rows;
    queries_of_ = &queries;
    among_ = among;
    call_ = &call;
    top_k_ = std::min<int64_t>(top_k, sizes_.order);
    found_.assign(queries.rows(), {});
    Begin();
    const int64_t most = MostOfPiece(ranges);
    for (int64_t query = 0; query < queries.rows(); ++query) {
      for (RowRange left : ranges[query]) {
        while (left.begin < left.end) {
          if (!HasRoomFor(query)) RETURN_IF_ERROR(RunPass());
          left.begin += Add(query, {left.begin, std::min(left.end, left.begin + most)});
        }
      }
    }
    if (piece_count_ > 0) RETURN_IF_ERROR(RunPass());
    NeighborLists lists;
    for (std::vector<uint64_t>& keys : found_) lists.push_back(ListOf(&keys));
    return lists;
  }

 private:
  // Rows of a piece at most: a block's at once where there is little to do, so that it is shared
  // out among all blocks, and more where pieces are many.
  static int64_t MostOfPiece(absl::Span<const RowRanges> ranges) {
    constexpr int64_t kPiecesWanted = 4096;
    constexpr int64_t kLeast = ScanPieces::Scan::kRowsOfBlock, kMost = 8 * kLeast;
    int64_t rows = 0;
    for (const RowRanges of_query : ranges) {
      for (const RowRange range : of_query) rows += range.end - range.begin;
    }
    return std::clamp(rows / kPiecesWanted / kLeast * kLeast, kLeast, kMost);
  }

  void Begin() {
    slots_.clear();
    owners_.clear();
    piece_count_ = key_count_ = 0;
  }

  // Whether the pass can have another piece of `query`, the one that was added to last or the next.
  bool HasRoomFor(int64_t query) const {
    if (piece_count_ == sizes_.pieces || key_count_ == sizes_.keys) return false;
    if (HasOpenPart(query)) return true;
    const auto parts = static_cast<int64_t>(owners_.size());
    return parts < sizes_.parts && (parts + 1) * top_k_ <= sizes_.best &&
           (HasSlot(query) || HasRoomForSlot());
  }
  bool HasRoomForSlot() const {
    const auto slots = static_cast<int64_t>(slots_.size());
    return (slots + 1) * rows_of_->layout.numbers <= sizes_.queries;
  }
  bool HasSlot(int64_t query) const { return !slots_.empty() && slots_.back() == query; }
  bool HasOpenPart(int64_t query) const {
    return !owners_.empty() && owners_.back() == query &&
           host_parts_.data()[owners_.size() - 1].count < kKeysOfQuery;
  }

  // Adds a piece of the rows at the first of these positions, as many as there is room for, which
  // is some; how many that are.
  int64_t Add(int64_t query, RowRange range) {
    if (!HasSlot(query)) {
      const DeviceLayout& layout = rows_of_->layout;
      layout.ArrangeQuery(queries_of_->row(query).data(),
                          host_queries_.data() + slots_.size() * layout.numbers);
      slots_.push_back(query);
    }
    if (!HasOpenPart(query)) {
      host_parts_.data()[owners_.size()] = {key_count_, 0};
      owners_.push_back(query);
    }
    ListPart& part = host_parts_.data()[owners_.size() - 1];
    const int64_t count =
        std::min({range.end - range.begin, kKeysOfQuery - part.count, sizes_.keys - key_count_});
    host_pieces_.data()[piece_count_++] = {range.begin, key_count_, static_cast<int32_t>(count),
                                           static_cast<int32_t>(slots_.size()) - 1};
    part.count += count;
    key_count_ += count;
    return count;
  }

  // Queries that look into the same list read it side by side, all but one from the cache.
  void GatherPieces() {
    std::sort(host_pieces_.data(), host_pieces_.data() + piece_count_,
              [](const ListPiece& a, const ListPiece& b) {
                return a.first != b.first ? a.first < b.first : a.query < b.query;
              });
  }

  // Searches what was added, and begins the next pass.
  absl::Status RunPass() {
    RETURN_IF_ERROR(call_->Check("index search"));
    const typename Device::Range range("a pass through lists", piece_count_);
    if (slots_.size() > 1) GatherPieces();
    const auto parts = static_cast<int64_t>(owners_.size());
    RETURN_IF_ERROR(CopyIn(queries_, host_queries_,
                           static_cast<int64_t>(slots_.size()) * rows_of_->layout.numbers));
    RETURN_IF_ERROR(CopyIn(pieces_, host_pieces_, piece_count_));
    RETURN_IF_ERROR(CopyIn(parts_, host_parts_, parts));
    RETURN_IF_ERROR(LaunchScan());
    RETURN_IF_ERROR(
        device_->Launch(static_cast<int>(parts),
                        SelectOfParts{parts_.data(), keys_.data(), static_cast<int>(top_k_),
                                      best_.data(), counts_.data()}));
    RETURN_IF_ERROR(device_->CopyOut(host_counts_.data(), counts_.data(), parts * 4));
    RETURN_IF_ERROR(device_->CopyOut(host_best_.data(), best_.data(), parts * top_k_ * 8));
    RETURN_IF_ERROR(device_->Wait());
    for (int64_t part = 0; part < parts; ++part) Take(part);
    Begin();
    return absl::OkStatus();
  }

  template <typename T>
  absl::Status CopyIn(const device::DeviceArray<Device, T>& to,
                      const device::HostArray<Device, T>& from, int64_t count) {
    return device_->CopyIn(to.data(), from.data(), count * static_cast<int64_t>(sizeof(T)));
  }

  absl::Status LaunchScan() {
    ScanPieces scan{ScanTask{rows_of_->layout}};
    scan.task.rows = rows_of_->numbers;
    scan.task.queries = queries_.data();
    scan.task.list = order_.data();
    scan.task.among = among_;
    scan.pieces = pieces_.data();
    scan.piece_count = static_cast<int>(piece_count_);
    scan.keys = keys_.data();
    const int64_t most = device_->template MostBlocks<ScanPieces>();
    return device_->Launch(static_cast<int>(std::min(piece_count_, most)), scan);
  }

  // Adds what was selected of a part to what its query has found, and leaves the best there.
  void Take(int64_t part) {
    std::vector<uint64_t>& keys = found_[owners_[part]];
    const uint64_t* const begin = host_best_.data() + part * top_k_;
    keys.insert(keys.end(), begin, begin + host_counts_.data()[part]);
    if (static_cast<int64_t>(keys.size()) <= top_k_) return;
    std::nth_element(keys.begin(), keys.begin() + top_k_, keys.end(), std::greater<>());
    keys.resize(top_k_);
  }

  static std::vector<Neighbor> ListOf(std::vector<uint64_t>* keys) {
    std::sort(keys->begin(), keys->end(), std::greater<>());
    std::vector<Neighbor> list;
    list.reserve(keys->size());
    for (const uint64_t key : *keys) list.push_back(NeighborOf(key));
    return list;
  }

  ListSizes sizes_;
  device::DeviceArray<Device, uint32_t> order_;
  device::DeviceArray<Device, float> queries_;
  device::DeviceArray<Device, ListPiece> pieces_;
  device::DeviceArray<Device, ListPart> parts_;
  device::DeviceArray<Device, uint64_t> keys_, best_;
  device::DeviceArray<Device, int> counts_;
  device::HostArray<Device, float> host_queries_;
  device::HostArray<Device, ListPiece> host_pieces_;
  device::HostArray<Device, ListPart> host_parts_;
  device::HostArray<Device, uint64_t> host_best_;
  device::HostArray<Device, int> host_counts_;
  // Of the search under way.
  Device* device_ = nullptr;
  const DeviceRows* rows_of_ = nullptr;
  const EmbeddingMatrix* queries_of_ = nullptr;
  const uint64_t* among_ = nullptr;
  const CallContext* call_ = nullptr;
  int64_t top_k_ = 0;
  std::vector<std::vector<uint64_t>> found_;  // keys of each query
  // Of the pass that is being put together.
  std::vector<int64_t> slots_;   // the query that each place of host_queries_ has
  std::vector<int64_t> owners_;  // the query of each part
  int64_t piece_count_ = 0, key_count_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_LIST_SCAN_H_
