#include "common/index/device_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/index/block_lengths.h"
#include "common/index/rough_best.h"
#include "common/index/row_scores.h"
#include "common/kernels/inner_products.h"

namespace sightline {
namespace {

// Beyond k, for which a device takes hardly longer.
constexpr int kAskedBeyond = 64;
constexpr int kAskedMoreBy = 4;
// That are scored in memory which does not grow with their number.
constexpr size_t kRowsOfTurn = 16384;

}  // namespace

EmbeddingMatrix QueriesAt(const EmbeddingMatrix& queries, absl::Span<const int64_t> numbers) {
  EmbeddingMatrix some(static_cast<int64_t>(numbers.size()), queries.dimension());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto query = queries.row(numbers[i]);
    std::copy(query.begin(), query.end(), some.mutable_row(static_cast<int64_t>(i)).begin());
  }
  return some;
}

DeviceSearch::DeviceSearch(const VectorView& vectors, std::unique_ptr<DeviceScan> scan,
                           absl::Span<const int32_t> order, ComputePool* pool)
    : vectors_(vectors),
      order_(order),
      rounding_(scan->rounding()),
      outliers_(Outliers()),
      scan_host_bytes_(scan->byte_count().host),
      pool_(pool),
      scan_(std::move(scan)) {}

absl::StatusOr<NeighborLists> DeviceSearch::Search(const EmbeddingMatrix& queries,
                                                   const SearchOptions& options,
                                                   const CallContext& call) const {
  return Find(queries, nullptr, options, call);
}

absl::StatusOr<NeighborLists> DeviceSearch::SearchRanges(const EmbeddingMatrix& queries,
                                                         absl::Span<const RowRanges> ranges,
                                                         const SearchOptions& options,
                                                         const CallContext& call) const {
  return Find(queries, ranges.data(), options, call);
}

int64_t DeviceSearch::byte_count() const {
  const size_t outliers = outliers_.size() * (sizeof(Outlier) + sizeof(int64_t));
  return scan_host_bytes_ + static_cast<int64_t>(outliers);
}

absl::StatusOr<NeighborLists> DeviceSearch::Find(const EmbeddingMatrix& queries, Ranges ranges,
                                                 const SearchOptions& options,
                                                 const CallContext& call) const {
  if (queries.rows() == 0) return NeighborLists();
  if (vectors_.dtype == Dtype::kFloat16) {
    return Scan(queries, ranges, options.top_k, options, call);
  }
  return FindRounded(queries, ranges, options, call);
}

absl::StatusOr<NeighborLists> DeviceSearch::Scan(const EmbeddingMatrix& queries, Ranges ranges,
                                                 int top_k, const SearchOptions& options,
                                                 const CallContext& call) const {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(failure_);
  absl::StatusOr<NeighborLists> lists =
      ranges == nullptr ? scan_->Search(queries, top_k, options.among, call)
                        : scan_->SearchRanges(queries, absl::MakeConstSpan(ranges, queries.rows()),
                                              top_k, options.among, call);
  if (HasReason(lists.status(), reasons::kDeviceFailed)) failure_ = lists.status();
  return lists;
}

absl::StatusOr<NeighborLists> DeviceSearch::FindRounded(const EmbeddingMatrix& queries,
                                                        Ranges ranges, const SearchOptions& options,
                                                        const CallContext& call) const {
  NeighborLists lists(queries.rows());
  // Queries whose list is not proven; and those of which a device can tell nothing, as products
  // may overflow: then a sum of infinite ones is not even found.
  std::vector<int64_t> open, untold;
  for (int64_t i = 0; i < queries.rows(); ++i) {
    (std::isfinite(ErrorOf(queries.row(i).data())) ? open : untold).push_back(i);
  }
  const auto ranges_of = [&](int64_t i) { return ranges == nullptr ? nullptr : ranges + i; };
  int asked = std::min(2 * options.top_k + kAskedBeyond, DeviceScan::kMostNeighbors);
  while (!open.empty()) {
    std::vector<RowRanges> some;
    for (const int64_t i : open) {
      if (ranges != nullptr) some.push_back(ranges[i]);
    }
    ASSIGN_OR_RETURN(const NeighborLists rough,
                     Scan(QueriesAt(queries, open), ranges == nullptr ? nullptr : some.data(),
                          asked, options, call));
    std::vector<absl::StatusOr<ProvenList>> proven(open.size());
    PoolOf(options)->ParallelFor(static_cast<int64_t>(open.size()), 1,
                                 [&](int64_t begin, int64_t end) {
                                   for (int64_t i = begin; i < end; ++i) {
                                     proven[i] = Proven(queries.row(open[i]).data(), rough[i],
                                                        asked, ranges_of(open[i]), options, call);
                                   }
                                 });
    std::vector<int64_t> unproven;
    for (size_t i = 0; i < open.size(); ++i) {
      ASSIGN_OR_RETURN(ProvenList list, std::move(proven[i]));
      if (list.has_value()) {
        lists[open[i]] = *std::move(list);
      } else {
        unproven.push_back(open[i]);
      }
    }
    open = std::move(unproven);
    if (asked == DeviceScan::kMostNeighbors) break;
    asked = std::min(kAskedMoreBy * asked, DeviceScan::kMostNeighbors);
  }
  untold.insert(untold.end(), open.begin(), open.end());
  for (const int64_t i : untold) {
    ASSIGN_OR_RETURN(lists[i], ScoreEach(queries.row(i).data(), ranges_of(i), options, call));
  }
  return lists;
}

absl::StatusOr<DeviceSearch::ProvenList> DeviceSearch::Proven(const float* query,
                                                              const std::vector<Neighbor>& rough,
                                                              int asked, Ranges ranges,
                                                              const SearchOptions& options,
                                                              const CallContext& call) const {
  const float error = ErrorOf(query);
  RoughBest best(options.top_k, static_cast<int64_t>(rough.size() + outliers_.size()));
  for (const Neighbor& neighbor : rough) best.Add({neighbor.row, neighbor.score, error});
  constexpr float kUnknown = std::numeric_limits<float>::infinity();
  ForEachOutlier(ranges, [&](int64_t row) {
    if (options.among == nullptr || options.among->Contains(row)) best.Add({row, 0, kUnknown});
  });
  ASSIGN_OR_RETURN(std::vector<Neighbor> list,
                   best.Take([&](absl::Span<const int64_t> rows, absl::Span<float> scores) {
                     return ScoreRows(vectors_, query, rows, scores, call);
                   }));
  if (static_cast<int>(rough.size()) < asked) return ProvenList(std::move(list));  // of all rows
  const bool proven = static_cast<int>(list.size()) == options.top_k &&
                      double{rough.back().score} + error < list.back().score;
  return proven ? ProvenList(std::move(list)) : absl::nullopt;
}

absl::StatusOr<std::vector<Neighbor>> DeviceSearch::ScoreEach(const float* query, Ranges ranges,
                                                              const SearchOptions& options,
                                                              const CallContext& call) const {
  if (ranges == nullptr) {
    return BestOfRange(vectors_, query, options.among, {0, vectors_.rows}, options.top_k, call);
  }
  std::vector<Neighbor> best;
  std::vector<int64_t> rows;
  const auto score = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<Neighbor> some,
                     BestOfRows(vectors_, query, std::move(rows), options.top_k, call));
    MergeBest(some, options.top_k, &best);
    rows.clear();
    return absl::OkStatus();
  };
  for (const RowRange& range : *ranges) {
    for (int64_t position = range.begin; position < range.end; ++position) {
      const int64_t row = order_[position];
      if (options.among != nullptr && !options.among->Contains(row)) continue;
      rows.push_back(row);
      if (rows.size() == kRowsOfTurn) RETURN_IF_ERROR(score());
    }
  }
  RETURN_IF_ERROR(score());
  return best;
}

std::vector<DeviceSearch::Outlier> DeviceSearch::Outliers() const {
  std::vector<Outlier> outliers;
  const std::vector<int64_t>& rows = rounding_.outliers;
  if (order_.empty() || rows.empty()) {
    for (const int64_t row : rows) outliers.push_back({row, row});
    return outliers;
  }
  for (size_t position = 0; position < order_.size(); ++position) {
    const int64_t row = order_[position];
    if (!std::binary_search(rows.begin(), rows.end(), row)) continue;
    outliers.push_back({static_cast<int64_t>(position), row});
  }
  return outliers;
}

template <typename Visit>
void DeviceSearch::ForEachOutlier(Ranges ranges, Visit visit) const {
  if (ranges == nullptr) {
    for (const Outlier& outlier : outliers_) visit(outlier.row);
    return;
  }
  if (outliers_.empty()) return;
  for (const RowRange& range : *ranges) {
    auto outlier = std::lower_bound(
        outliers_.begin(), outliers_.end(), range.begin,
        [](const Outlier& of, int64_t position) { return of.position < position; });
    for (; outlier != outliers_.end() && outlier->position < range.end; ++outlier) {
      visit(outlier->row);
    }
  }
}

// How far the score of a row that is no outlier may be from that of the rounded row.
float DeviceSearch::ErrorOf(const float* query) const {
  const double length = LengthAbove(query, vectors_.dimension);
  const double rounded = double{rounding_.longest} + rounding_.most_error;
  const double error =
      length * rounding_.most_error * (1 + 0x1p-20) +
      kernels::InnerProductError(vectors_.dimension, length, rounded * (1 + 0x1p-20));
  return std::nextafter(static_cast<float>(error), std::numeric_limits<float>::infinity());
}

}  // namespace sightline
