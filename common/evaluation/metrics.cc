#include "common/evaluation/metrics.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

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

absl::optional<double> MeanRank(absl::Span<const int> ranks) {
  int64_t sum = 0;
  for (const int rank : ranks) {
    if (rank == 0) return absl::nullopt;
    sum += rank;
  }
  if (ranks.empty()) return absl::nullopt;
  return static_cast<double>(sum) / static_cast<double>(ranks.size());
}

absl::optional<double> MedianRank(absl::Span<const int> ranks) {
  if (ranks.empty()) return absl::nullopt;
  constexpr int kBehind = std::numeric_limits<int>::max();
  std::vector<int> sorted;
  for (const int rank : ranks) sorted.push_back(rank == 0 ? kBehind : rank);
  const size_t upper = sorted.size() / 2;
  std::sort(sorted.begin(), sorted.end());
  if (sorted[upper] == kBehind) return absl::nullopt;
  return (sorted[(sorted.size() - 1) / 2] + sorted[upper]) / 2.0;
}

}  // namespace sightline
