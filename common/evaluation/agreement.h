// Whether two ways to compute one ranking agree: the fleet and this process.
//
// Scores may differ in their last digits, since sums are formed in another order when a
// batch is another; so items whose scores are closer than the tolerance may change
// places, and nothing else may.  Where combined scores are reported on a grid, such a
// difference can carry one over to the next value, so that step is allowed on top.
#ifndef SIGHTLINE_COMMON_EVALUATION_AGREEMENT_H_
#define SIGHTLINE_COMMON_EVALUATION_AGREEMENT_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "common/api/search.h"

namespace sightline {

// Allowed between two scores: kScoreTolerance * max(1, |score|).
inline constexpr double kScoreTolerance = 1e-5;

// |a - b| / max(1, |a|); of scores that lie on a grid, what |a - b| has beyond one step.
double ScoreDifference(float a, float b, float grid = 0);

// One pair of lists, or the sum of many.
struct Agreement {
  int64_t lists = 0;
  int64_t hits = 0;
  int64_t equal_lists = 0;  // the same items at the same places
  int64_t tied_lists = 0;   // the same but for ties that changed places
  // A tie at the depth: one side reranked another candidate than the other.  Their
  // single scores are compared; combined scores and places depend on the whole block.
  int64_t boundary_lists = 0;
  int64_t differing_lists = 0;

  double retrieval_difference = 0;  // the largest ScoreDifference of each kind
  double rerank_difference = 0;
  double combined_difference = 0;  // beyond one step of the grid

  std::string first_problem;  // why the first list differs; empty if none does

  bool agrees() const { return differing_lists == 0; }
  void Add(const Agreement& other);
};

// Compares two answers to one query; `expected` is the one that scores are measured from,
// `grid` the one of combined scores (GridOf).
Agreement CompareHits(absl::Span<const Hit> expected, absl::Span<const Hit> actual, float grid);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_AGREEMENT_H_
