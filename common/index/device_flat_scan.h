// The scan of device_scan.h on any device: what is launched, in which order, in what memory.
//
// Queries go in groups that share a reading of the rows.  The first rows are scored as they come,
// and the best k of them make a floor; of the others a key is kept only if it is above that, and
// the floor rises from chunk to chunk, each of which is so long that few keys are expected.  Where
// rows come in a bad order, keys are lost, which is noticed; then the group is scanned once more in
// chunks so short that none can be.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_FLAT_SCAN_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_FLAT_SCAN_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/call_context.h"
#include "common/base/status_macros.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/row_set.h"
#include "common/index/device_kernels.h"
#include "common/index/device_layout.h"
#include "common/index/device_scan.h"
#include "common/index/row_rounder.h"
#include "common/index/row_scores.h"
#include "common/index/vector_index.h"

namespace sightline {

// Memory of a device, which outlives it, given back with this.
template <typename Device, typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  ~DeviceArray() {
    if (device_ != nullptr) device_->Free(data_, Bytes(count_));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  static int64_t Bytes(int64_t count) { return count * static_cast<int64_t>(sizeof(T)); }

  // Once, for `count` >= 1.
  absl::Status Reserve(Device* device, int64_t count) {
    ASSIGN_OR_RETURN(void* const memory, device->Allocate(Bytes(count)));
    device_ = device;
    data_ = static_cast<T*>(memory);
    count_ = count;
    return absl::OkStatus();
  }

  T* data() const { return data_; }
  int64_t count() const { return count_; }

 private:
  Device* device_ = nullptr;
  T* data_ = nullptr;
  int64_t count_ = 0;
};

template <typename Device>
class DeviceFlatScan : public DeviceScan {
 public:
  // As LoadCudaScan.
  static absl::StatusOr<std::unique_ptr<DeviceFlatScan>> Load(Device device,
                                                              const VectorView& vectors,
                                                              const CallContext& call) {
    if (vectors.rows >= kMostRows) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the shard has ", vectors.rows, " rows; on a device it has less than ", kMostRows));
    }
    std::unique_ptr<DeviceFlatScan> scan(new DeviceFlatScan(std::move(device), vectors));
    RETURN_IF_ERROR(scan->Reserve());
    RETURN_IF_ERROR(scan->LoadRows(vectors, call));
    return scan;
  }

  absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(const EmbeddingMatrix& queries,
                                                            int top_k, const RowSet* among,
                                                            const CallContext& call) override {
    std::vector<std::vector<Neighbor>> lists(static_cast<size_t>(queries.rows()));
    if (row_count_ == 0) return lists;
    RETURN_IF_ERROR(TakeFilter(among));
    for (int64_t first = 0; first < queries.rows(); first += ScanRows::kQueries) {
      RETURN_IF_ERROR(call.Check("index search"));
      RETURN_IF_ERROR(SearchGroup(queries, first, top_k, &lists));
    }
    return lists;
  }

  int64_t byte_count() const override { return Bytes(row_count_, layout_.dimension); }

  static int64_t Bytes(int64_t rows, int dimension) {
    const Sizes sizes(rows, DeviceLayout(dimension));
    return sizes.rows * 2 + sizes.queries * 4 + sizes.filter * 8 + sizes.keys * 8 * 2 +
           static_cast<int64_t>(sizeof(State));
  }

  // Keys of a query that are kept at once; also how many rows are scored as they come.
  static constexpr int64_t kCapacity = 16384;

 private:
  static constexpr int64_t kMostRows = (int64_t{1} << 32) - 1;
  static constexpr int64_t kStagingBytes = 32 << 20;
  static_assert(kCapacity >= 4 * kMostNeighbors, "rows have to move on by more than k");
  static_assert(kCapacity <= SelectBest::kMostKeys, "they are selected from at once");

  // Numbers of each array.
  struct Sizes {
    Sizes(int64_t row_count, const DeviceLayout& layout)
        : rows(std::max<int64_t>(row_count, 1) * layout.numbers),
          queries(ScanRows::kQueries * layout.numbers),
          filter(row_count / 64 + 1),
          keys(ScanRows::kQueries * kCapacity) {}
    int64_t rows, queries, filter, keys;
  };

  // What a search of a group leaves beside its keys.
  struct State {
    uint64_t floors[ScanRows::kQueries];
    int counts[2][ScanRows::kQueries];
    int overflows[ScanRows::kQueries];
  };

  DeviceFlatScan(Device device, const VectorView& vectors)
      : device_(std::move(device)), layout_(vectors.dimension), row_count_(vectors.rows) {}

  absl::Status Reserve() {
    const Sizes sizes(row_count_, layout_);
    RETURN_IF_ERROR(rows_.Reserve(&device_, sizes.rows));
    RETURN_IF_ERROR(queries_.Reserve(&device_, sizes.queries));
    RETURN_IF_ERROR(filter_.Reserve(&device_, sizes.filter));
    RETURN_IF_ERROR(keys_[0].Reserve(&device_, sizes.keys));
    RETURN_IF_ERROR(keys_[1].Reserve(&device_, sizes.keys));
    return state_.Reserve(&device_, 1);
  }

  absl::Status LoadRows(const VectorView& vectors, const CallContext& call) {
    const int64_t most = std::max<int64_t>(kStagingBytes / (layout_.numbers * 2), 1);
    std::vector<float> numbers(std::min(most, row_count_) * layout_.dimension);
    std::vector<uint16_t> arranged(std::min(most, row_count_) * layout_.numbers);
    RowRounder rounder(vectors.dtype, layout_);
    for (int64_t first = 0; first < row_count_; first += most) {
      RETURN_IF_ERROR(call.Check("loading rows to a device"));
      const int64_t count = std::min(most, row_count_ - first);
      RETURN_IF_ERROR(CopyRows(vectors, first, count, numbers.data()));
      for (int64_t i = 0; i < count; ++i) {
        rounder.Round(first + i, numbers.data() + i * layout_.dimension,
                      arranged.data() + i * layout_.numbers);
      }
      RETURN_IF_ERROR(device_.CopyIn(rows_.data() + first * layout_.numbers, arranged.data(),
                                     count * layout_.numbers * 2));
      RETURN_IF_ERROR(device_.Wait());
    }
    ASSIGN_OR_RETURN(rounding_, std::move(rounder).Rounding(row_count_));
    return absl::OkStatus();
  }

  // A list of rows is scanned itself, where it takes no more memory than bits.
  absl::Status TakeFilter(const RowSet* among) {
    list_ = nullptr;
    bits_ = nullptr;
    places_ = row_count_;
    if (among == nullptr) return absl::OkStatus();
    if (among->is_list() && among->count() <= filter_.count() * 2) {
      list_ = reinterpret_cast<const uint32_t*>(filter_.data());
      places_ = among->count();
      filter_words_.resize((places_ + 1) / 2);
      std::memcpy(filter_words_.data(), among->rows().data(), places_ * 4);
    } else {
      bits_ = filter_.data();
      filter_words_.assign(filter_.count(), 0);
      if (!among->is_list()) {
        std::copy_n(among->words(), (row_count_ + 63) / 64, filter_words_.begin());
      }
      for (const uint32_t row : among->rows()) filter_words_[row >> 6] |= uint64_t{1} << (row & 63);
    }
    return device_.CopyIn(filter_.data(), filter_words_.data(),
                          static_cast<int64_t>(filter_words_.size() * sizeof(uint64_t)));
  }

  absl::Status SearchGroup(const EmbeddingMatrix& queries, int64_t first, int top_k,
                           std::vector<std::vector<Neighbor>>* lists) {
    if (places_ == 0) return absl::OkStatus();
    group_.assign(ScanRows::kQueries * layout_.numbers, 0.0f);
    const int count =
        static_cast<int>(std::min<int64_t>(ScanRows::kQueries, queries.rows() - first));
    for (int i = 0; i < count; ++i) {
      layout_.Arrange(queries.row(first + i).data(), group_.data() + i * layout_.numbers);
    }
    RETURN_IF_ERROR(
        device_.CopyIn(queries_.data(), group_.data(), static_cast<int64_t>(group_.size()) * 4));
    RETURN_IF_ERROR(Scan(count, top_k, /*carefully=*/false));
    if (Overflowed(count)) RETURN_IF_ERROR(Scan(count, top_k, /*carefully=*/true));
    for (int i = 0; i < count; ++i) (*lists)[first + i] = ListOf(i);
    return absl::OkStatus();
  }

  // Scans all rows for the queries of a group, and waits for the best keys.
  absl::Status Scan(int query_count, int top_k, bool carefully) {
    RETURN_IF_ERROR(device_.Clear(state_.data(), sizeof(State)));
    int table = 0;
    for (int64_t seen = 0, chunk = 0; seen < places_; seen += chunk, table = 1 - table) {
      const bool dense = seen == 0;
      chunk = std::min(ChunkAfter(seen, top_k, carefully), places_ - seen);
      RETURN_IF_ERROR(LaunchScan(query_count, seen, seen + chunk, dense, TableOf(table)));
      SelectBest select;
      select.from = TableOf(table);
      if (dense) select.dense_count = static_cast<int>(chunk);
      select.k = top_k;
      select.to = TableOf(1 - table);
      select.floors = state_.data()->floors;
      select.overflows = state_.data()->overflows;
      RETURN_IF_ERROR(device_.Launch(query_count, select));
    }
    return CopyResults(query_count, top_k, table);
  }

  // Places that are scanned at once after so many: as many as can be kept, or as are expected to
  // leave a quarter of that if the order is random, when k of those before were the best.
  static int64_t ChunkAfter(int64_t seen, int top_k, bool carefully) {
    if (seen == 0) return kCapacity;
    const int64_t room = kCapacity - top_k;
    return carefully ? room : std::max(room, seen / (4 * int64_t{top_k}) * room);
  }

  absl::Status LaunchScan(int query_count, int64_t begin, int64_t end, bool dense, KeyTable found) {
    ScanRows scan{layout_};
    scan.rows = rows_.data();
    scan.queries = queries_.data();
    scan.query_count = query_count;
    scan.begin = begin;
    scan.end = end;
    scan.list = list_;
    scan.among = bits_;
    scan.floors = state_.data()->floors;
    scan.found = found;
    scan.dense = dense;
    constexpr int64_t kRowsOfBlock = ScanRows::kThreads / device::kLanes * ScanRows::kRows;
    const int64_t blocks = (end - begin + kRowsOfBlock - 1) / kRowsOfBlock;
    return device_.Launch(static_cast<int>(std::min<int64_t>(blocks, device_.most_blocks())), scan);
  }

  KeyTable TableOf(int table) const {
    KeyTable of;
    of.keys = keys_[table].data();
    of.capacity = kCapacity;
    of.counts = state_.data()->counts[table];
    return of;
  }

  absl::Status CopyResults(int query_count, int top_k, int table) {
    best_.resize(static_cast<size_t>(query_count) * top_k);
    found_table_ = table;
    top_k_ = top_k;
    RETURN_IF_ERROR(device_.CopyOut(&result_, state_.data(), sizeof(State)));
    for (int query = 0; query < query_count; ++query) {
      RETURN_IF_ERROR(device_.CopyOut(best_.data() + static_cast<int64_t>(query) * top_k,
                                      TableOf(table).of(query), int64_t{top_k} * 8));
    }
    return device_.Wait();
  }

  bool Overflowed(int query_count) const {
    return std::any_of(result_.overflows, result_.overflows + query_count,
                       [](int overflow) { return overflow != 0; });
  }

  std::vector<Neighbor> ListOf(int query) {
    const auto begin = best_.begin() + static_cast<std::ptrdiff_t>(query) * top_k_;
    const auto end = begin + result_.counts[found_table_][query];
    std::sort(begin, end, [](uint64_t a, uint64_t b) { return a > b; });
    std::vector<Neighbor> list;
    list.reserve(end - begin);
    for (auto key = begin; key != end; ++key) list.push_back(NeighborOf(*key));
    return list;
  }

  static Neighbor NeighborOf(uint64_t key) {
    const auto ascending = static_cast<uint32_t>(key >> 32);
    const uint32_t bits = (ascending & 0x80000000u) != 0 ? ascending & 0x7FFFFFFFu : ~ascending;
    Neighbor neighbor;
    neighbor.row = 0xFFFFFFFFu - static_cast<uint32_t>(key);
    std::memcpy(&neighbor.score, &bits, sizeof(bits));
    return neighbor;
  }

  Device device_;  // goes last
  const DeviceLayout layout_;
  const int64_t row_count_;
  DeviceArray<Device, uint16_t> rows_;
  DeviceArray<Device, float> queries_;
  DeviceArray<Device, uint64_t> filter_;  // bits, or a list
  DeviceArray<Device, uint64_t> keys_[2];
  DeviceArray<Device, State> state_;
  // Of the search under way.
  const uint32_t* list_ = nullptr;
  const uint64_t* bits_ = nullptr;
  int64_t places_ = 0;  // rows to scan, or of the list
  std::vector<uint64_t> filter_words_;
  std::vector<float> group_;
  State result_ = {};
  std::vector<uint64_t> best_;
  int found_table_ = 0;
  int top_k_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_FLAT_SCAN_H_
