// Which pairs a cross-encoder scores, where not all: those behind a retrieval, what Sep+Coop and
// Joint+Coop of "Retrieve Fast, Rerank Smart" read of its matrix, or those within pools.
#ifndef SIGHTLINE_COMMON_EVALUATION_CHOSEN_PAIRS_H_
#define SIGHTLINE_COMMON_EVALUATION_CHOSEN_PAIRS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/compute_pool.h"
#include "common/evaluation/evaluation_pool.h"
#include "common/evaluation/score_matrix.h"

namespace sightline {

// Captions by picture, each list ascending.
using ChosenPairs = std::vector<std::vector<int>>;

// Of each query of each pool, in both directions, the `depth` best candidates of the pool by
// `retrieval`; of those that tie at the end the first ones, as MeasurePolicy takes them.
// InvalidArgument for a NaN among the scores.
absl::StatusOr<ChosenPairs> ChoosePairs(const NamedScores& retrieval,
                                        absl::Span<const EvaluationPool> pools, int depth,
                                        ComputePool* threads);

// All pairs of a query of a pool and a candidate of the same pool, in both directions; `images` is
// how many pictures there are.
ChosenPairs PairsWithin(absl::Span<const EvaluationPool> pools, int64_t images);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_CHOSEN_PAIRS_H_
