// The flat index whose rows lie on a device.
//
// Of rows of float16 a device tells the scores themselves.  Of rows of float32 it knows them
// rounded: the true score is within |q| |x - r| of that of the rounded row r, and what the sums may
// be off by. So somewhat more than k rows are asked for, those that may be among the best k are
// scored exactly, and if the k-th is better than the last that was asked for could be, no other row
// can be among them.  Else more are asked for, and at last each row is scored: slow, as where
// thousands of rows are equal or some are a thousand times as long as others, and as exact.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/base/compute_pool.h"
#include "common/base/error_details.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/index/block_lengths.h"
#include "common/index/device_scan.h"
#include "common/index/index_checks.h"
#include "common/index/rough_best.h"
#include "common/index/row_scores.h"
#include "common/index/vector_index.h"
#include "common/kernels/inner_products.h"

namespace sightline {
namespace {

// Beyond k, for which a device takes hardly longer.
constexpr int kAskedBeyond = 64;
constexpr int kAskedMoreBy = 4;

class DeviceFlatIndex : public VectorIndex {
 public:
  DeviceFlatIndex(const VectorView& vectors, std::unique_ptr<DeviceScan> scan, ComputePool* pool)
      : vectors_(vectors),
        rounding_(scan->rounding()),
        scan_host_bytes_(scan->byte_count().host),
        pool_(pool),
        scan_(std::move(scan)) {}

  absl::StatusOr<NeighborLists> Search(const EmbeddingMatrix& queries, const SearchOptions& options,
                                       const CallContext& call) const override {
    RETURN_IF_ERROR(CheckSearch(queries, options, vectors_, call));
    if (vectors_.dtype == Dtype::kFloat16) return Scan(queries, options.top_k, options, call);
    return SearchRounded(queries, options, call);
  }

  bool IsExact(const SearchOptions&) const override { return true; }
  int64_t byte_count() const override {
    return scan_host_bytes_ + static_cast<int64_t>(rounding_.outliers.size() * sizeof(int64_t));
  }
  int dimension() const override { return vectors_.dimension; }
  int64_t size() const override { return vectors_.rows; }

 private:
  absl::StatusOr<NeighborLists> Scan(const EmbeddingMatrix& queries, int top_k,
                                     const SearchOptions& options, const CallContext& call) const {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(failure_);
    absl::StatusOr<NeighborLists> lists = scan_->Search(queries, top_k, options.among, call);
    if (HasReason(lists.status(), reasons::kDeviceFailed)) failure_ = lists.status();
    return lists;
  }

  absl::StatusOr<NeighborLists> SearchRounded(const EmbeddingMatrix& queries,
                                              const SearchOptions& options,
                                              const CallContext& call) const {
    NeighborLists lists(queries.rows());
    // Queries whose list is not proven; and those of which a device can tell nothing, as products
    // may overflow: then a sum of infinite ones is not even found.
    std::vector<int64_t> open, untold;
    for (int64_t i = 0; i < queries.rows(); ++i) {
      (std::isfinite(ErrorOf(queries.row(i).data())) ? open : untold).push_back(i);
    }
    int asked = std::min(2 * options.top_k + kAskedBeyond, DeviceScan::kMostNeighbors);
    while (!open.empty()) {
      ASSIGN_OR_RETURN(const NeighborLists rough,
                       Scan(RowsOf(queries, open), asked, options, call));
      std::vector<absl::StatusOr<ProvenList>> proven(open.size());
      ComputePool* const pool = options.pool != nullptr ? options.pool : pool_;
      pool->ParallelFor(static_cast<int64_t>(open.size()), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          proven[i] = Proven(queries.row(open[i]).data(), rough[i], asked, options, call);
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
      ASSIGN_OR_RETURN(lists[i], BestOfRange(vectors_, queries.row(i).data(), options.among,
                                             {0, vectors_.rows}, options.top_k, call));
    }
    return lists;
  }

  // The best of a query by their exact scores; none if a row that is not among the `asked` best
  // by rough ones might be one of them.
  using ProvenList = absl::optional<std::vector<Neighbor>>;
  absl::StatusOr<ProvenList> Proven(const float* query, const std::vector<Neighbor>& rough,
                                    int asked, const SearchOptions& options,
                                    const CallContext& call) const {
    const float error = ErrorOf(query);
    RoughBest best(options.top_k, static_cast<int64_t>(rough.size() + rounding_.outliers.size()));
    for (const Neighbor& neighbor : rough) best.Add({neighbor.row, neighbor.score, error});
    constexpr float kUnknown = std::numeric_limits<float>::infinity();
    for (const int64_t row : rounding_.outliers) {
      if (options.among == nullptr || options.among->Contains(row)) best.Add({row, 0, kUnknown});
    }
    ASSIGN_OR_RETURN(std::vector<Neighbor> list,
                     best.Take([&](absl::Span<const int64_t> rows, absl::Span<float> scores) {
                       return ScoreRows(vectors_, query, rows, scores, call);
                     }));
    if (static_cast<int>(rough.size()) < asked) return ProvenList(std::move(list));  // of all rows
    const bool proven = static_cast<int>(list.size()) == options.top_k &&
                        double{rough.back().score} + error < list.back().score;
    return proven ? ProvenList(std::move(list)) : absl::nullopt;
  }

  // How far the score of a row that is no outlier may be from that of the rounded row.
  float ErrorOf(const float* query) const {
    const double length = LengthAbove(query, vectors_.dimension);
    const double rounded = double{rounding_.longest} + rounding_.most_error;
    const double error =
        length * rounding_.most_error * (1 + 0x1p-20) +
        kernels::InnerProductError(vectors_.dimension, length, rounded * (1 + 0x1p-20));
    return std::nextafter(static_cast<float>(error), std::numeric_limits<float>::infinity());
  }

  static EmbeddingMatrix RowsOf(const EmbeddingMatrix& queries, const std::vector<int64_t>& rows) {
    EmbeddingMatrix some(static_cast<int64_t>(rows.size()), queries.dimension());
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto row = queries.row(rows[i]);
      std::copy(row.begin(), row.end(), some.mutable_row(i).begin());
    }
    return some;
  }

  const VectorView vectors_;
  const RowRounding rounding_;
  const int64_t scan_host_bytes_;
  ComputePool* const pool_;
  mutable Mutex mutex_;
  // Why nothing is asked of the device any more; OK: nothing has failed.
  mutable absl::Status failure_ GUARDED_BY(mutex_);
  const std::unique_ptr<DeviceScan> scan_ GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<VectorIndex>> OpenDeviceFlatIndex(const VectorView& vectors,
                                                                 std::unique_ptr<DeviceScan> scan,
                                                                 ComputePool* pool) {
  RETURN_IF_ERROR(CheckView(vectors));
  return std::make_unique<DeviceFlatIndex>(vectors, std::move(scan), pool);
}

}  // namespace sightline
