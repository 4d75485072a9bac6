// How hard an index is searched that is not searched exactly.
#ifndef SIGHTLINE_COMMON_API_EFFORT_H_
#define SIGHTLINE_COMMON_API_EFFORT_H_

#include "absl/types/optional.h"

namespace sightline {

// What is asked for; at most one of the two.  Neither: the recall that the generation names.
struct EffortWish {
  absl::optional<float> recall;  // share of the nearest items, 0 < recall <= 1
  absl::optional<int> effort;    // 1 to limits::kMaxEffort, in what the index counts it in
};

// What was done.
struct SearchEffort {
  bool exact = true;     // nothing is missing
  float recall = 1;      // as measured when the index was built; 1 if exact, 0 if never measured
  int effort = 0;        // 0 if exact
  bool reduced = false;  // less than was asked, for lack of time
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_API_EFFORT_H_
