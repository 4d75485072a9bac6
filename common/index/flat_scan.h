// The two ways in which a flat index compares rows with queries; both give the same lists.
#ifndef SIGHTLINE_COMMON_INDEX_FLAT_SCAN_H_
#define SIGHTLINE_COMMON_INDEX_FLAT_SCAN_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/row_set.h"
#include "common/index/block_lengths.h"
#include "common/index/vector_index.h"

namespace sightline {

using NeighborLists = std::vector<std::vector<Neighbor>>;

// Both search `vectors`, which lie in memory, for the best `top_k` of each query with the threads
// of `pool`, among the rows of `among`; null: among all.  The arguments were checked (CheckSearch).
// The call's own status if it ends before the search.

// Of a single query: each row is multiplied by the kernel that scores are told by.
absl::StatusOr<NeighborLists> ScanForOne(const VectorView& vectors, const EmbeddingMatrix& query,
                                         int top_k, const RowSet* among, ComputePool* pool,
                                         const CallContext& call);

// Of queries that share each reading of the rows.  `lengths` are those of `vectors`.
absl::StatusOr<NeighborLists> ScanForMany(const VectorView& vectors, const BlockLengths& lengths,
                                          const EmbeddingMatrix& queries, int top_k,
                                          const RowSet* among, ComputePool* pool,
                                          const CallContext& call);

// A score that the last of a query's list has at least, as far as any thread knows: what scores
// below it need not be collected.  It spares time and never changes a result.
class Floor {
 public:
  float score() const { return score_.load(std::memory_order_relaxed); }

  void Raise(float score) {
    float seen = this->score();
    while (seen < score && !score_.compare_exchange_weak(seen, score, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<float> score_{-std::numeric_limits<float>::infinity()};
};

// Whether a call is over, for the threads of a scan: looked at between blocks, and the first to
// see it tells the others.
class CallWatch {
 public:
  explicit CallWatch(const CallContext& call) : call_(call) {}

  bool IsOver() {
    if (over_) return true;
    if (!call_.cancelled() && !call_.expired()) return false;
    over_ = true;
    return true;
  }

  // What has become of the scan.
  absl::Status status() const { return over_ ? call_.Check("index search") : absl::OkStatus(); }

 private:
  const CallContext& call_;
  std::atomic<bool> over_{false};
};

// Parts of a matrix per thread; who finishes early takes another.
constexpr int64_t kRowPartsPerThread = 4;

// Neighbors that the parts of one search may hold before they are merged (64 MiB).
constexpr int64_t kMostKept = int64_t{4} << 20;

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_FLAT_SCAN_H_
