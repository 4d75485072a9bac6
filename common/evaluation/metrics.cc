#include "common/evaluation/metrics.h"

#include <cstddef>

namespace sightline {

double RetrievalMetrics::recall_at(int cutoff) const {
  for (size_t i = 0; i < kRecallCutoffs.size(); ++i) {
    if (kRecallCutoffs[i] == cutoff) return recall[i];
  }
  return 0;
}

RetrievalMetrics Summarize(absl::Span<const int> ranks) {
  RetrievalMetrics metrics;
  metrics.query_count = static_cast<int64_t>(ranks.size());
  if (ranks.empty()) return metrics;
  const double share = 1.0 / static_cast<double>(ranks.size());
  for (const int rank : ranks) metrics.mrr += ReciprocalRank(rank);
  metrics.mrr *= share;
  for (size_t i = 0; i < kRecallCutoffs.size(); ++i) {
    // A whole number until the end, so that shares come out exactly.
    double found = 0;
    for (const int rank : ranks) found += RecallAt(rank, kRecallCutoffs[i]);
    metrics.recall[i] = found / static_cast<double>(ranks.size());
  }
  return metrics;
}

}  // namespace sightline
