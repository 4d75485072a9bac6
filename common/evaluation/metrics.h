// How good a ranking is: Recall@K and mean reciprocal rank.
//
// Both follow from one number a query: the rank of its first relevant hit, counted from
// 1, or 0 when there is none in the list that was looked at.
#ifndef SIGHTLINE_COMMON_EVALUATION_METRICS_H_
#define SIGHTLINE_COMMON_EVALUATION_METRICS_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"

namespace sightline {

inline constexpr std::array<int, 4> kRecallCutoffs = {1, 5, 10, 20};

struct RetrievalMetrics {
  int64_t query_count = 0;
  // Share of queries with a relevant hit among the first kRecallCutoffs[i].
  std::array<double, kRecallCutoffs.size()> recall = {};
  // Mean of 1 / rank, 0 for a query without a relevant hit: over lists of L hits, MRR@L.
  double mrr = 0;

  // Of one of kRecallCutoffs.
  double recall_at(int cutoff) const;
};

// 1 if the rank is within the cutoff, else 0.
inline double RecallAt(int rank, int cutoff) {
  return rank >= 1 && rank <= cutoff ? 1 : 0;
}
inline double ReciprocalRank(int rank) {
  return rank >= 1 ? 1.0 / rank : 0;
}

// All zero for no queries.
RetrievalMetrics Summarize(absl::Span<const int> ranks);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_METRICS_H_
