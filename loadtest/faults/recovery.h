// What a run's seconds tell of its faults: how long until the fleet was whole again.
//
// A second is whole if requests were meant to be sent in it and every one of them was
// answered OK, by all shards, undegraded, and passed its checks.  The fleet is whole again
// from the first of kWholeSeconds whole seconds in a row, seconds without requests left
// out, as one good second may be luck.  The search begins with the second in which the
// fault was undone (done, if it is for good), and ends where the next fault begins or the
// run ends.  So times are coarse by up to a second, and what never broke took 0.
#ifndef SIGHTLINE_LOADTEST_FAULTS_RECOVERY_H_
#define SIGHTLINE_LOADTEST_FAULTS_RECOVERY_H_

#include <vector>

#include "loadtest/measure/load_result.h"

namespace sightline {

inline constexpr int kWholeSeconds = 3;

// Sets `whole_again`.  A mark with a failed expectation is of a fault that was not done as
// planned, and is left as it is.
void FindRecoveries(const std::vector<Second>& seconds, std::vector<FaultMark>* marks);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_FAULTS_RECOVERY_H_
