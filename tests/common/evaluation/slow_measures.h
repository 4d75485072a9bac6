// Measures of a ranking by the book: whole lists, sorted, and orders of ties one by one.
#ifndef SIGHTLINE_TESTS_COMMON_EVALUATION_SLOW_MEASURES_H_
#define SIGHTLINE_TESTS_COMMON_EVALUATION_SLOW_MEASURES_H_

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/evaluation/query_measures.h"

namespace sightline {

// Of a list of hits, best first.
inline QueryMeasures SlowMeasuresOfList(const std::vector<bool>& right, int ndcg_cutoff) {
  QueryMeasures measures = {};
  const auto total = std::count(right.begin(), right.end(), true);
  const auto first = std::find(right.begin(), right.end(), true) - right.begin() + 1;
  const int cutoffs[] = {1, 5, 10, 20};
  for (int i = 0; i < 4; ++i) measures[i] = first <= cutoffs[i] ? 1 : 0;
  measures[4] = 1.0 / first;
  double precisions = 0, dcg = 0, ideal = 0;
  int found = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    if (i < ndcg_cutoff && i < total) ideal += std::log(2) / std::log(i + 2);
    if (!right[i]) continue;
    precisions += ++found / (i + 1.0);
    if (i < ndcg_cutoff) dcg += std::log(2) / std::log(i + 2);
  }
  measures[5] = precisions / total;
  measures[6] = dcg / ideal;
  measures[7] = first;
  return measures;
}

// With ties in the order of `priority`.
inline QueryMeasures SlowMeasures(const std::vector<float>& scores,
                                  const std::vector<int>& relevant,
                                  const std::vector<int>& priority, int ndcg_cutoff) {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && priority[a] < priority[b]);
  });
  std::vector<bool> right;
  for (const int candidate : order) {
    right.push_back(std::count(relevant.begin(), relevant.end(), candidate) > 0);
  }
  return SlowMeasuresOfList(right, ndcg_cutoff);
}

// In the order of candidates, or the mean over all orders of all candidates; few, then.
inline QueryMeasures SlowMeasures(const std::vector<float>& scores,
                                  const std::vector<int>& relevant, TieRule ties, int ndcg_cutoff) {
  std::vector<int> priority(scores.size());
  std::iota(priority.begin(), priority.end(), 0);
  if (ties == TieRule::kCandidateOrder) {
    return SlowMeasures(scores, relevant, priority, ndcg_cutoff);
  }
  QueryMeasures mean = {};
  int orders = 0;
  do {
    const QueryMeasures one = SlowMeasures(scores, relevant, priority, ndcg_cutoff);
    for (int m = 0; m < kQueryMeasureCount; ++m) mean[m] += one[m];
    ++orders;
  } while (std::next_permutation(priority.begin(), priority.end()));
  for (double& value : mean) value /= orders;
  return mean;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_EVALUATION_SLOW_MEASURES_H_
