// Exact search where a walk through a graph would cost more than looking at each row.
#ifndef SIGHTLINE_COMMON_INDEX_HNSW_SCAN_H_
#define SIGHTLINE_COMMON_INDEX_HNSW_SCAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/embedding/row_set.h"
#include "common/index/hnsw_graph.h"
#include "common/index/vector_index.h"

namespace sightline {

// The best `top_k` of all rows, or of `among` if that is not null.  By the codes of `graph`, where
// it is coded: then the rows that may be among the best for all that their errors say are scored.
absl::StatusOr<std::vector<Neighbor>> ScanRows(const HnswGraph& graph, const VectorView& vectors,
                                               const float* query, const RowSet* among, int top_k,
                                               const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_HNSW_SCAN_H_
