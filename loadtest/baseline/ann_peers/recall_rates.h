// What a contender's rate is at a recall, and how rates of two compare.
#ifndef SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_RECALL_RATES_H_
#define SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_RECALL_RATES_H_

#include <vector>

#include "absl/types/optional.h"

namespace sightline {

// One effort, as it was measured.
struct RecallPoint {
  double recall = 0;
  double seconds = 0;  // a query
};

// The points that no other beats in both, by recall; of equals one.
std::vector<RecallPoint> Front(std::vector<RecallPoint> points);

// The time of a query at `recall`: on the front, between its two neighbors there, by the logarithm
// of the time; that of its first point where all find more.  None if no effort finds as much.
absl::optional<double> SecondsAt(double recall, const std::vector<RecallPoint>& points);

struct Quartiles {
  double lower = 0, median = 0, upper = 0;
};

// Between neighbors where the number of values has no element there.  `values` has one at least.
Quartiles QuartilesOf(std::vector<double> values);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_RECALL_RATES_H_
