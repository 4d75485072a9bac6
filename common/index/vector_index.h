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
#include "common/embedding/embedding_matrix.h"

namespace sightline {

struct Neighbor {
  int64_t row = 0;
  float score = 0;  // exact inner product; higher is better
};

struct SearchOptions {
  int top_k = 10;  // 1 to limits::kMaxNeighbors
  // Computes instead of the pool that the index was opened with, if not null.
  ComputePool* pool = nullptr;
};

class VectorIndex {
 public:
  virtual ~VectorIndex() = default;

  // For each row of `queries` up to `top_k` neighbors, best score first; fewer if the
  // index holds fewer, never padding.  Ties are broken by row, which is item-id order,
  // so equal inputs give equal outputs, whatever else is in the batch.
  //
  // InvalidArgument if `queries` has another dimension, a number that is not finite,
  // or `top_k` is out of range.  The call's own status if it ends before the search.
  virtual absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(
      const EmbeddingMatrix& queries, const SearchOptions& options,
      const CallContext& call) const = 0;

  virtual int dimension() const = 0;
  virtual int64_t size() const = 0;
};

// A row-major matrix in memory that somebody else keeps alive;
// rows start `stride` floats apart, stride >= dimension.
struct VectorView {
  const float* data = nullptr;
  int64_t rows = 0;
  int dimension = 0;
  int64_t stride = 0;
};

// Exact search by scanning all rows with FAISS's kernels.  `vectors` and `pool` must
// outlive the index.  InvalidArgument for a view that is not one.
absl::StatusOr<std::unique_ptr<VectorIndex>> OpenFlatIndex(const VectorView& vectors,
                                                           ComputePool* pool);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_VECTOR_INDEX_H_
