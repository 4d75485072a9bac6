// A VectorIndex answers "which k items lie closest to this embedding?".
//
// An index never changes after it is opened, so any number of threads may search it
// without locking.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<VectorIndex> index, OpenFlatIndex(vectors, pool));
//   ASSIGN_OR_RETURN(auto neighbors, index->Search(queries, {.top_k = 20}, call));
#ifndef SIGHTLINE_COMMON_INDEX_VECTOR_INDEX_H_
#define SIGHTLINE_COMMON_INDEX_VECTOR_INDEX_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/dtype.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/row_reader.h"
#include "common/embedding/row_set.h"

namespace sightline {

struct Neighbor {
  int64_t row = 0;
  float score = 0;  // exact inner product of the query and the stored row; higher is better
};

// The order of a list of them.
inline bool RanksBefore(const Neighbor& a, const Neighbor& b) {
  return a.score != b.score ? a.score > b.score : a.row < b.row;
}

inline constexpr int kDefaultEffort = 64;

struct SearchOptions {
  int top_k = 10;  // 1 to limits::kMaxNeighbors
  // Computes instead of the pool that the index was opened with, if not null.
  ComputePool* pool = nullptr;
  // How hard an index looks that is not exact: lists that it looks into, candidates that it keeps.
  // 1 to limits::kMaxEffort; what is beyond all that there is finds all there is, and so does
  // limits::kMaxEffort of any index.  An exact one takes no notice.
  int effort = kDefaultEffort;
  // Rows that may be found, of as many as the index has; null: all.
  const RowSet* among = nullptr;
};

class VectorIndex {
 public:
  virtual ~VectorIndex() = default;

  // For each row of `queries` up to `top_k` neighbors, best score first; fewer if the
  // index holds fewer, never padding.  Ties are broken by row, which is item-id order,
  // so equal queries and options give equal outputs, whatever else is in the batch.  Rows whose
  // score is NaN are never found.
  //
  // InvalidArgument if `queries` has another dimension, a number that is not finite,
  // `top_k` or `effort` is out of range, or `among` is of another number of rows.  The call's own
  // status if it ends before the search; as RowReader::Read where rows lie on a disk.
  virtual absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(
      const EmbeddingMatrix& queries, const SearchOptions& options,
      const CallContext& call) const = 0;

  // Whether a search with these options compares every row that may be found, or excludes it for
  // certain, so that what it finds are the true neighbors.
  virtual bool IsExact(const SearchOptions& options) const = 0;

  // About how many times as much a search that is not exact looks at with these options as one of
  // the same effort for few neighbors without a filter, which is what efforts are measured by.
  virtual double WorkOf(const SearchOptions&) const { return 1; }

  // Bytes that the index keeps in memory beside the rows that it was opened over.
  virtual int64_t byte_count() const = 0;

  virtual int dimension() const = 0;
  virtual int64_t size() const = 0;
};

// A row-major matrix that somebody else keeps alive: in memory, or on a disk behind a reader.
struct VectorView {
  // Where the first row begins, at a multiple of the element's size; null where rows lie on a disk
  // or there are none.
  const void* data = nullptr;
  int64_t rows = 0;
  int dimension = 0;
  int64_t stride = 0;             // numbers from row to row, stride >= dimension; of rows in memory
  Dtype dtype = Dtype::kFloat32;  // or kFloat16
  const RowReader* reader = nullptr;  // of rows on a disk; else null

  bool on_disk() const { return data == nullptr && reader != nullptr; }
  // Of a row in memory.
  const char* row(int64_t i) const {
    return static_cast<const char*>(data) + i * stride * static_cast<int64_t>(DtypeSize(dtype));
  }
  const float* float_row(int64_t i) const { return reinterpret_cast<const float*>(row(i)); }
};

// Exact search by scanning all rows, which lie in memory.  `vectors` and `pool` must outlive the
// index.  InvalidArgument for a view that is not one.
absl::StatusOr<std::unique_ptr<VectorIndex>> OpenFlatIndex(const VectorView& vectors,
                                                           ComputePool* pool);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_VECTOR_INDEX_H_
