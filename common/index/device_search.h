// Searches of rows that lie on a device, with the CPU's bits whatever the rows were before.
//
// Of rows of float16 a device tells the scores themselves.  Of rows of float32 it knows them
// rounded: the true score is within |q| |x - r| of that of the rounded row r, and what the sums may
// be off by. So somewhat more than k rows are asked for, those that may be among the best k are
// scored exactly, and if the k-th is better than the last that was asked for could be, no other row
// can be among them.  Else more are asked for, and at last each row is scored: slow, as where
// thousands of rows are equal or some are a thousand times as long as others, and as exact.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_SEARCH_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_SEARCH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/mutex.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/device_scan.h"
#include "common/index/vector_index.h"

namespace sightline {

// The queries at `numbers`.
EmbeddingMatrix QueriesAt(const EmbeddingMatrix& queries, absl::Span<const int64_t> numbers);

// Thread-safe: one search at a time is the device's.
class DeviceSearch {
 public:
  // Of what `scan` has loaded from `vectors`, which are read for rows of float32 only, and `order`.
  // These outlive the object, as does `pool`, which scores rows of several queries at once.
  DeviceSearch(const VectorView& vectors, std::unique_ptr<DeviceScan> scan,
               absl::Span<const int32_t> order, ComputePool* pool);

  // As VectorIndex::Search that is exact; the arguments are checked.  An error of the device is
  // UNAVAILABLE (DEVICE_FAILED), and so are all searches after it.
  absl::StatusOr<NeighborLists> Search(const EmbeddingMatrix& queries, const SearchOptions& options,
                                       const CallContext& call) const;
  // Likewise of each query among the rows at its own ranges of positions.
  absl::StatusOr<NeighborLists> SearchRanges(const EmbeddingMatrix& queries,
                                             absl::Span<const RowRanges> ranges,
                                             const SearchOptions& options,
                                             const CallContext& call) const;

  const VectorView& vectors() const { return vectors_; }
  ComputePool* PoolOf(const SearchOptions& options) const {
    return options.pool != nullptr ? options.pool : pool_;
  }
  int64_t byte_count() const;  // of the host

 private:
  // One of each query; null: they look everywhere.
  using Ranges = const RowRanges*;
  // The best by exact scores; none if a row that was not asked for might be one of them.
  using ProvenList = absl::optional<std::vector<Neighbor>>;

  struct Outlier {
    int64_t position;  // in the order, if there is one
    int64_t row;
  };

  absl::StatusOr<NeighborLists> Find(const EmbeddingMatrix& queries, Ranges ranges,
                                     const SearchOptions& options, const CallContext& call) const;
  absl::StatusOr<NeighborLists> FindRounded(const EmbeddingMatrix& queries, Ranges ranges,
                                            const SearchOptions& options,
                                            const CallContext& call) const;
  absl::StatusOr<NeighborLists> Scan(const EmbeddingMatrix& queries, Ranges ranges, int top_k,
                                     const SearchOptions& options, const CallContext& call) const;
  absl::StatusOr<ProvenList> Proven(const float* query, const std::vector<Neighbor>& rough,
                                    int asked, Ranges ranges, const SearchOptions& options,
                                    const CallContext& call) const;
  // Of each row where the query looks.
  absl::StatusOr<std::vector<Neighbor>> ScoreEach(const float* query, Ranges ranges,
                                                  const SearchOptions& options,
                                                  const CallContext& call) const;
  std::vector<Outlier> Outliers() const;
  // Calls `visit(row)` for the outliers where the query looks.
  template <typename Visit>
  void ForEachOutlier(Ranges ranges, Visit visit) const;
  float ErrorOf(const float* query) const;

  const VectorView vectors_;
  const absl::Span<const int32_t> order_;
  const RowRounding rounding_;
  const std::vector<Outlier> outliers_;  // by position, or by row
  const int64_t scan_host_bytes_;
  ComputePool* const pool_;
  mutable Mutex mutex_;
  // Why nothing is asked of the device any more; OK: nothing has failed.
  mutable absl::Status failure_ GUARDED_BY(mutex_);
  const std::unique_ptr<DeviceScan> scan_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_SEARCH_H_
