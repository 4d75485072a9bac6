// Every query of a pool through score matrices: one alone, or two in turn.
#ifndef SIGHTLINE_COMMON_EVALUATION_MATRIX_MEASURE_H_
#define SIGHTLINE_COMMON_EVALUATION_MATRIX_MEASURE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/base/compute_pool.h"
#include "common/embedding/score.h"
#include "common/evaluation/evaluation_pool.h"
#include "common/evaluation/matrix_items.h"
#include "common/evaluation/method.h"
#include "common/evaluation/query.h"
#include "common/evaluation/query_measures.h"
#include "common/evaluation/score_matrix.h"
#include "common/evaluation/tie_groups.h"

namespace sightline {

struct MatrixMeasureOptions {
  TieRule ties = TieRule::kCandidateOrder;
  int ndcg_cutoff = 10;  // >= 1
};

// Which scores rank.  A matrix alone: a bi-encoder, a cross-encoder that read all pairs, SGRAF.
// Two: the best by retrieval are reranked.
struct MatrixPolicy {
  const NamedScores* retrieval = nullptr;
  const NamedScores* rerank = nullptr;  // null: every method is retrieval alone
  ScoreKind rerank_kind = ScoreKind::kSoftmaxMatch;
  std::vector<Method> methods = {Method()};  // from one retrieval all depths and combinations
};

// For each query of the pool, in its order, the places among the pool's candidates of those that
// are right.
std::vector<std::vector<int>> RelevantPlaces(Direction direction, const EvaluationPool& pool,
                                             const MatrixItems& items);

// [method][query], queries in the pool's order.  Scores have a row for each image of `items` and a
// column for each caption.  InvalidArgument, with row and column, for a retrieval score that is
// NaN, and for what is to be combined and is not finite or, where the kind says so, no probability.
// Rerank scores of other pairs are not looked at: they may be NaN, which says "not scored".
absl::StatusOr<std::vector<std::vector<QueryMeasures>>> MeasurePolicy(
    const MatrixPolicy& policy, Direction direction, const EvaluationPool& pool,
    const MatrixItems& items, const MatrixMeasureOptions& options, ComputePool* threads);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_MATRIX_MEASURE_H_
