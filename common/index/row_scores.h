// The scores that searches tell: exact inner products of a query with stored rows.
//
// Of float32 rows they are FAISS's (fvec_inner_product), of float16 rows sums over the same numbers
// in float32, in an order of their own.  Each has the same bits on every CPU and in any batch.
#ifndef SIGHTLINE_COMMON_INDEX_ROW_SCORES_H_
#define SIGHTLINE_COMMON_INDEX_ROW_SCORES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/embedding/row_set.h"
#include "common/index/vector_index.h"

namespace sightline {

// With a row in memory.
float RowScore(const VectorView& vectors, const float* query, int64_t row);

// With each of `rows`, wherever they lie, to as many `scores`.  Errors as RowReader::Read, and the
// call's own if it ends before.
absl::Status ScoreRows(const VectorView& vectors, const float* query,
                       absl::Span<const int64_t> rows, absl::Span<float> scores,
                       const CallContext& call);

// The best `top_k` of `rows`, each once, by their scores, in the order of VectorIndex::Search:
// what every kind ends with whose candidates are known but roughly.  Errors as ScoreRows.
absl::StatusOr<std::vector<Neighbor>> BestOfRows(const VectorView& vectors, const float* query,
                                                 std::vector<int64_t> rows, int top_k,
                                                 const CallContext& call);

// Adds `more` to the best `top_k`; both are lists in the order of VectorIndex::Search.
void MergeBest(absl::Span<const Neighbor> more, int top_k, std::vector<Neighbor>* best);

// BestOfRows of the rows of `range` that `among` has, null: of all of them, in memory that does not
// grow with their number.
absl::StatusOr<std::vector<Neighbor>> BestOfRange(const VectorView& vectors, const float* query,
                                                  const RowSet* among, RowRange range, int top_k,
                                                  const CallContext& call);

// Copies `count` rows from `first` on as float32, without padding, to `to`, wherever they lie: how
// builds go through them.  Errors as RowReader::Read.
absl::Status CopyRows(const VectorView& vectors, int64_t first, int64_t count, float* to);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_ROW_SCORES_H_
