// The scan of device_scan.h on any device: what is launched, in which order, in what memory.
//
// Queries go in groups that share a reading of the rows.  Where there are many rows, some of them,
// all over the matrix, are scored first, and the best k of these make a floor.  Of all rows the
// keys above it are kept, chunk by chunk: it rises from one to the next, and each is so long that
// few keys are expected.  Where the sample was unlucky keys are lost, which is noticed; then the
// group is scanned once more, in chunks so short that none can be.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_FLAT_SCAN_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_FLAT_SCAN_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/status_macros.h"
#include "common/device/device_array.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/row_set.h"
#include "common/index/device_batch_scan.h"
#include "common/index/device_kernels.h"
#include "common/index/device_layout.h"
#include "common/index/device_list_scan.h"
#include "common/index/device_scan.h"
#include "common/index/device_scan_memory.h"
#include "common/index/row_rounder.h"
#include "common/index/row_scores.h"
#include "common/index/vector_index.h"

namespace sightline {

// `Products` multiplies, as device::PlainProducts does.
template <typename Device, typename Products>
class DeviceFlatScan : public DeviceScan {
 public:
  // As ScanDevices::Load.
  static absl::StatusOr<std::unique_ptr<DeviceFlatScan>> Load(
      Device device, const VectorView& vectors, const CallContext& call,
      absl::Span<const int32_t> order = {}) {
    if (vectors.rows >= kMostDeviceRows) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the shard has ", vectors.rows, " rows; on a device it has less than ", kMostDeviceRows));
    }
    std::unique_ptr<DeviceFlatScan> scan(new DeviceFlatScan(std::move(device), vectors));
    RETURN_IF_ERROR(scan->Reserve());
    if (!order.empty()) {
      scan->has_lists_ = true;
      RETURN_IF_ERROR(
          scan->lists_.Reserve(&scan->device_, ListSizes(scan->row_count_, scan->layout_), order));
    }
    RETURN_IF_ERROR(scan->LoadRows(vectors, call));
    scan->device_rows_.longest = scan->rounding_.longest;
    return scan;
  }

  absl::StatusOr<NeighborLists> Search(const EmbeddingMatrix& queries, int top_k,
                                       const RowSet* among, const CallContext& call) override {
    const typename Device::Range range("a search", queries.rows());
    absl::StatusOr<NeighborLists> lists = SearchAll(queries, top_k, among, call);
    // Nothing is under way that would write to our memory, or read it.
    if (!lists.ok()) (void)device_.Wait();
    return lists;
  }

  absl::StatusOr<NeighborLists> SearchRanges(const EmbeddingMatrix& queries,
                                             absl::Span<const RowRanges> ranges, int top_k,
                                             const RowSet* among,
                                             const CallContext& call) override {
    absl::StatusOr<NeighborLists> lists = SearchSome(queries, ranges, top_k, among, call);
    if (!lists.ok()) (void)device_.Wait();
    return lists;
  }

  device::CopiedBytes copied() const override { return device_.copied(); }

  ScanBytes byte_count() const override {
    return has_lists_ ? BytesOfListScan(row_count_, layout_.dimension)
                      : BytesOfScan(row_count_, layout_.dimension);
  }

  // Also how many rows are scored for the first floor.
  static constexpr int64_t kCapacity = kKeysOfQuery;

 private:
  using Batch = DeviceBatchScan<Device, Products>;

  static constexpr int64_t kStagingBytes = 32 << 20;
  static_assert(kCapacity >= 4 * kMostNeighbors, "rows have to move on by more than k");
  static_assert(kCapacity <= SelectBest::kMostKeys, "they are selected from at once");

  DeviceFlatScan(Device device, const VectorView& vectors)
      : device_(std::move(device)),
        layout_(vectors.dimension),
        row_count_(vectors.rows),
        device_rows_{layout_} {}

  absl::Status Reserve() {
    const ScanSizes sizes(row_count_, layout_);
    RETURN_IF_ERROR(rows_.Reserve(&device_, sizes.rows));
    RETURN_IF_ERROR(queries_.Reserve(&device_, sizes.queries));
    RETURN_IF_ERROR(filter_.Reserve(&device_, sizes.filter));
    RETURN_IF_ERROR(keys_[0].Reserve(&device_, sizes.keys));
    RETURN_IF_ERROR(keys_[1].Reserve(&device_, sizes.keys));
    RETURN_IF_ERROR(outcome_.Reserve(&device_, 1));
    RETURN_IF_ERROR(host_queries_.Reserve(&device_, sizes.queries));
    RETURN_IF_ERROR(host_filter_.Reserve(&device_, sizes.filter));
    RETURN_IF_ERROR(host_outcome_.Reserve(&device_, 1));
    RETURN_IF_ERROR(device_.template Prepare<ScanForOne>());
    RETURN_IF_ERROR(device_.template Prepare<ScanForGroup>());
    RETURN_IF_ERROR(device_.template Prepare<SelectBest>());
    device_rows_.numbers = rows_.data();
    device_rows_.count = row_count_;
    if (row_count_ < kLeastBatchRows) return absl::OkStatus();
    return batch_.Reserve(&device_, layout_.dimension);
  }

  absl::Status LoadRows(const VectorView& vectors, const CallContext& call) {
    const int64_t most = std::min(std::max<int64_t>(kStagingBytes / (layout_.numbers * 2), 1),
                                  std::max<int64_t>(row_count_, 1));
    std::vector<float> numbers(most * layout_.dimension);
    device::HostArray<Device, uint16_t> arranged;
    RETURN_IF_ERROR(arranged.Reserve(&device_, most * layout_.numbers));
    RowRounder rounder(vectors.dtype, layout_);
    for (int64_t first = 0; first < row_count_; first += most) {
      RETURN_IF_ERROR(call.Check("loading rows to a device"));
      const int64_t count = std::min(most, row_count_ - first);
      RETURN_IF_ERROR(CopyRows(vectors, first, count, numbers.data()));
      for (int64_t i = 0; i < count; ++i) {
        rounder.Round(first + i, numbers.data() + i * layout_.dimension,
                      arranged.data() + i * layout_.numbers);
      }
      // Waited for in any case: what is copied goes with this function.
      const absl::Status copied = device_.CopyIn(rows_.data() + first * layout_.numbers,
                                                 arranged.data(), count * layout_.numbers * 2);
      const absl::Status done = device_.Wait();
      RETURN_IF_ERROR(copied);
      RETURN_IF_ERROR(done);
    }
    ASSIGN_OR_RETURN(rounding_, std::move(rounder).Rounding(row_count_));
    return absl::OkStatus();
  }

  absl::StatusOr<NeighborLists> SearchAll(const EmbeddingMatrix& queries, int top_k,
                                          const RowSet* among, const CallContext& call) {
    NeighborLists lists(static_cast<size_t>(queries.rows()));
    RETURN_IF_ERROR(TakeFilter(among, /*as_bits=*/false));
    if (places_ == 0) return lists;
    ASSIGN_OR_RETURN(const std::vector<int64_t> left,
                     SearchBatches(queries, top_k, among, call, &lists));
    for (size_t first = 0; first < left.size(); first += kQueriesOfGroup) {
      RETURN_IF_ERROR(call.Check("index search"));
      const size_t count = std::min<size_t>(kQueriesOfGroup, left.size() - first);
      RETURN_IF_ERROR(
          SearchGroup(queries, absl::MakeConstSpan(&left[first], count), top_k, &lists));
    }
    return lists;
  }

  absl::StatusOr<NeighborLists> SearchSome(const EmbeddingMatrix& queries,
                                           absl::Span<const RowRanges> ranges, int top_k,
                                           const RowSet* among, const CallContext& call) {
    if (row_count_ == 0) return NeighborLists(static_cast<size_t>(queries.rows()));
    RETURN_IF_ERROR(TakeFilter(among, /*as_bits=*/true));
    return lists_.Search(&device_, device_rows_, queries, ranges, top_k, bits_, call);
  }

  // As many queries at once as share a product, where that is worth it; those that are left.
  absl::StatusOr<std::vector<int64_t>> SearchBatches(const EmbeddingMatrix& queries, int top_k,
                                                     const RowSet* among, const CallContext& call,
                                                     NeighborLists* lists) {
    // It scores rows that a filter does not let through, too.
    const bool broad = among == nullptr || (list_ == nullptr && among->count() >= row_count_ / 8);
    std::vector<int64_t> left;
    int64_t first = 0;
    while (broad && Batch::Serves(device_rows_, top_k) &&
           queries.rows() - first >= Batch::kLeastQueries) {
      RETURN_IF_ERROR(call.Check("index search"));
      const int count = static_cast<int>(std::min<int64_t>(kBatchQueries, queries.rows() - first));
      ASSIGN_OR_RETURN(auto found,
                       batch_.Search(&device_, device_rows_, queries, first, count, top_k, bits_));
      for (auto& list : found) {
        if (list.has_value()) {
          (*lists)[first] = *std::move(list);
        } else {
          left.push_back(first);
        }
        ++first;
      }
    }
    for (; first < queries.rows(); ++first) left.push_back(first);
    return left;
  }

  // A list of rows is scanned itself, where it takes no more memory than bits, and need not be
  // them.
  absl::Status TakeFilter(const RowSet* among, bool as_bits) {
    list_ = nullptr;
    bits_ = nullptr;
    places_ = row_count_;
    if (among == nullptr || row_count_ == 0) return absl::OkStatus();
    uint64_t* const words = host_filter_.data();
    int64_t bytes = filter_.count() * 8;
    if (!as_bits && among->is_list() && among->count() * 4 <= bytes) {
      list_ = reinterpret_cast<const uint32_t*>(filter_.data());
      places_ = among->count();
      bytes = places_ * 4;
      std::copy(among->rows().begin(), among->rows().end(), reinterpret_cast<uint32_t*>(words));
    } else {
      bits_ = filter_.data();
      std::fill_n(words, filter_.count(), 0);
      if (!among->is_list()) std::copy_n(among->words(), (row_count_ + 63) / 64, words);
      for (const uint32_t row : among->rows()) words[row >> 6] |= uint64_t{1} << (row & 63);
    }
    return device_.CopyIn(filter_.data(), words, bytes);
  }

  absl::Status SearchGroup(const EmbeddingMatrix& queries, absl::Span<const int64_t> group,
                           int top_k, NeighborLists* lists) {
    query_count_ = static_cast<int>(group.size());
    top_k_ = top_k;
    std::fill_n(host_queries_.data(), ScanSizes(row_count_, layout_).queries, 0.0f);
    for (int i = 0; i < query_count_; ++i) {
      layout_.ArrangeQuery(queries.row(group[i]).data(),
                           host_queries_.data() + i * layout_.numbers);
    }
    RETURN_IF_ERROR(
        device_.CopyIn(queries_.data(), host_queries_.data(),
                       int64_t{query_count_ == 1 ? 1 : kQueriesOfGroup} * layout_.numbers * 4));
    RETURN_IF_ERROR(Scan(/*carefully=*/false));
    if (Overflowed()) RETURN_IF_ERROR(Scan(/*carefully=*/true));
    for (int i = 0; i < query_count_; ++i) (*lists)[group[i]] = ListOf(i);
    return absl::OkStatus();
  }

  // Scans all places for the queries of the group, and waits for the best keys.
  absl::Status Scan(bool carefully) {
    RETURN_IF_ERROR(
        device_.Clear(outcome_.data(), sizeof(ScanOutcome) - sizeof(ScanOutcome::best)));
    if (places_ <= kCapacity) {
      RETURN_IF_ERROR(LaunchScan({0, places_}, 1, TableOf(0), /*dense=*/true));
      RETURN_IF_ERROR(LaunchSelect(TableOf(0), static_cast<int>(places_), Best()));
      return CopyOutcome();
    }
    // The table that the sample lies in counts none of it, and is written to anew.
    RETURN_IF_ERROR(LaunchScan({0, kCapacity}, places_ / kCapacity, TableOf(0), /*dense=*/true));
    RETURN_IF_ERROR(LaunchSelect(TableOf(0), kCapacity, TableOf(1)));
    int table = 0;
    for (int64_t seen = 0; seen < places_; table = 1 - table) {
      const int64_t end = std::min(seen + ChunkAfter(seen, carefully), places_);
      RETURN_IF_ERROR(LaunchScan({seen, end}, 1, TableOf(table), /*dense=*/false));
      seen = end;
      RETURN_IF_ERROR(
          LaunchSelect(TableOf(table), -1, seen == places_ ? Best() : TableOf(1 - table)));
    }
    return CopyOutcome();
  }

  // Places that are scanned at once after so many: as many as can be kept, or as are expected to
  // leave a quarter of that, when k of those before, or of the sample, were the best.
  int64_t ChunkAfter(int64_t seen, bool carefully) const {
    const int64_t room = kCapacity - top_k_;
    if (carefully) return room;
    return std::max(room, std::max(seen, kCapacity) / (4 * int64_t{top_k_}) * room);
  }

  // For one query more rows are read at once, and no others are multiplied with.
  using ScanForOne = ScanRows<8, 1>;
  using ScanForGroup = ScanRows<4, kQueriesOfGroup>;

  absl::Status LaunchScan(RowRange places, int64_t stride, KeyTable found, bool dense) {
    ScanTask task{layout_};
    task.rows = rows_.data();
    task.queries = queries_.data();
    task.query_count = query_count_;
    task.begin = places.begin;
    task.end = places.end;
    task.stride = stride;
    task.list = list_;
    task.among = bits_;
    task.floors = outcome_.data()->floors;
    task.found = found;
    task.dense = dense;
    return query_count_ == 1 ? LaunchOver<ScanForOne>(task) : LaunchOver<ScanForGroup>(task);
  }

  template <typename Kernel>
  absl::Status LaunchOver(const ScanTask& task) {
    const int64_t blocks =
        (task.end - task.begin + Kernel::kRowsOfBlock - 1) / Kernel::kRowsOfBlock;
    const int most = device_.template MostBlocks<Kernel>();
    return device_.Launch(static_cast<int>(std::min<int64_t>(blocks, most)), Kernel{task});
  }

  absl::Status LaunchSelect(KeyTable from, int dense_count, KeyTable to) {
    SelectBest select;
    select.from = from;
    select.dense_count = dense_count;
    select.k = top_k_;
    select.to = to;
    select.floors = outcome_.data()->floors;
    select.overflows = outcome_.data()->overflows;
    return device_.Launch(query_count_, select);
  }

  KeyTable TableOf(int table) const {
    return {keys_[table].data(), kCapacity, outcome_.data()->counts[table]};
  }

  // Where the best keys of a group end.
  KeyTable Best() const { return {outcome_.data()->best, top_k_, outcome_.data()->best_counts}; }

  absl::Status CopyOutcome() {
    const int64_t unused = int64_t{kMostNeighbors} * kQueriesOfGroup - top_k_ * query_count_;
    RETURN_IF_ERROR(device_.CopyOut(host_outcome_.data(), outcome_.data(),
                                    static_cast<int64_t>(sizeof(ScanOutcome)) - unused * 8));
    return device_.Wait();
  }

  bool Overflowed() const {
    const int* const overflows = host_outcome_.data()->overflows;
    return std::any_of(overflows, overflows + query_count_, [](int lost) { return lost != 0; });
  }

  std::vector<Neighbor> ListOf(int query) const {
    uint64_t* const begin = host_outcome_.data()->best + int64_t{query} * top_k_;
    uint64_t* const end = begin + host_outcome_.data()->best_counts[query];
    std::sort(begin, end, std::greater<>());
    std::vector<Neighbor> list;
    list.reserve(end - begin);
    for (const uint64_t* key = begin; key != end; ++key) list.push_back(NeighborOf(*key));
    return list;
  }

  Device device_;  // goes last
  const DeviceLayout layout_;
  const int64_t row_count_;
  device::DeviceArray<Device, uint16_t> rows_;
  device::DeviceArray<Device, float> queries_;
  device::DeviceArray<Device, uint64_t> filter_;  // bits, or a list
  device::DeviceArray<Device, uint64_t> keys_[2];
  device::DeviceArray<Device, ScanOutcome> outcome_;
  device::HostArray<Device, float> host_queries_;
  device::HostArray<Device, uint64_t> host_filter_;
  device::HostArray<Device, ScanOutcome> host_outcome_;
  Batch batch_;                   // of kLeastBatchRows and more
  DeviceListScan<Device> lists_;  // of rows in an order
  bool has_lists_ = false;
  DeviceRows device_rows_;
  // Of the search under way.
  const uint32_t* list_ = nullptr;
  const uint64_t* bits_ = nullptr;
  int64_t places_ = 0;  // rows to scan, or of the list
  int query_count_ = 0;
  int top_k_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_FLAT_SCAN_H_
