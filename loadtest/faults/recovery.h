// What a run's seconds tell of its faults: how long until the fleet was whole again, what
// failed until then, and whether that is what the scenario expects.
//
// A second is whole if requests were meant to be sent in it and every one of them was
// answered OK, by all shards, undegraded, and passed its checks.  The fleet is whole again
// from the first of kWholeSeconds whole seconds in a row, seconds without requests left
// out, as one good second may be luck.  The search begins with the second in which the
// fault was undone (done, if it is for good), and ends where the next fault begins or the
// run ends.  So times are coarse by up to a second, and what never broke took 0.
//
// Failures are those of requests that were meant to be sent from the second of `at` until
// the fleet was whole again, or until that search ended.  Answers may be degraded all that
// time: they are no failures.
#ifndef SIGHTLINE_LOADTEST_FAULTS_RECOVERY_H_
#define SIGHTLINE_LOADTEST_FAULTS_RECOVERY_H_

#include <vector>

#include "loadtest/measure/load_result.h"
#include "loadtest/scenario/scenario.h"

namespace sightline {

inline constexpr int kWholeSeconds = 3;

// Sets `whole_again` and adds the expectations that did not hold.  `marks` are those of
// `faults`, in the same order (FaultSchedule::Finish); a mark with a failed expectation is
// of a fault that was not done as planned, and is left as it is.
void JudgeFaults(const std::vector<FaultSpec>& faults, const std::vector<Second>& seconds,
                 std::vector<FaultMark>* marks);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_FAULTS_RECOVERY_H_
