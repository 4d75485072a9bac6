// What a ranking is worth to one query, by the places of its relevant candidates.
//
// With ties each number is the expectation over all orders of what ties: McSherry and Najork,
// "Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores"
// (ECIR 2008).  Without, it is the number itself.
#ifndef SIGHTLINE_COMMON_EVALUATION_QUERY_MEASURES_H_
#define SIGHTLINE_COMMON_EVALUATION_QUERY_MEASURES_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/evaluation/metrics.h"
#include "common/evaluation/tie_groups.h"

namespace sightline {

// Places in QueryMeasures.
enum QueryMeasure : int {
  // Recall@K of kRecallCutoffs, in their order: 1 if a relevant candidate is among the first K.
  // The papers' R@K, by which one right caption of five is enough.
  kRecallAt1,
  kRecallAt5,
  kRecallAt10,
  kRecallAt20,
  kReciprocalOfRank,  // 1 / rank of the best relevant candidate
  // Mean, over all R relevant candidates, of the share of relevant ones down to it.
  kAveragePrecision,
  // DCG / ideal DCG at a cutoff, DCG = sum over relevant candidates of 1 / log2(rank + 1).
  kNdcg,
  kRank,  // of the best relevant candidate, from 1
};
inline constexpr int kQueryMeasureCount = 8;
using QueryMeasures = std::array<double, kQueryMeasureCount>;

// "r_at_1", ..., "mrr", "map", "ndcg", "mean_rank": of a mean over queries.
absl::string_view MeasureName(int measure);

// Of a query with the groups of RankRelevant, at least one; `ndcg_cutoff` >= 1.
QueryMeasures MeasureQuery(absl::Span<const TieGroup> groups, int ndcg_cutoff);

// Of a list of the `length` best, which may end before all of the `relevant` candidates have come,
// at least one: `places` are those of the ones that are in it, from 1, in ascending order.  What is
// behind its end counts as never found, and for kRank as the next place.
QueryMeasures MeasureList(absl::Span<const int> places, int64_t relevant, int length,
                          int ndcg_cutoff);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_QUERY_MEASURES_H_
