// The last step of a search by codes: the exact scores of its candidates.
#ifndef SIGHTLINE_COMMON_INDEX_RESCORING_H_
#define SIGHTLINE_COMMON_INDEX_RESCORING_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/index/best_estimates.h"
#include "common/index/ivf_query.h"
#include "common/index/vector_index.h"

namespace sightline {

// The best `top_k` of `candidates`, which are in no order, by their scores (row_scores.h), in the
// order of VectorIndex::Search.
//
// Rows are scored in the order of their estimates, and how far these were off is told by those that
// are scored already: once a row would have to be better than estimated by more than twice that
// (root of the mean square) to be among the best, it and all behind it are left.  So rows are read
// as the codes deserve, at most all.  Errors as ScoreRows.
absl::StatusOr<std::vector<Neighbor>> BestOfCandidates(const VectorView& vectors,
                                                       const IvfQuery& query,
                                                       std::vector<Estimate> candidates, int top_k,
                                                       const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_RESCORING_H_
