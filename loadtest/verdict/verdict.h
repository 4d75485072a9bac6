// Yes or no: what a run measured, against what its scenario asks for.
#ifndef SIGHTLINE_LOADTEST_VERDICT_VERDICT_H_
#define SIGHTLINE_LOADTEST_VERDICT_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "loadtest/measure/load_result.h"
#include "loadtest/scenario/scenario.h"

namespace sightline {

enum class CriterionState { kHeld, kBroken, kNotMeasurable };

// "held", "broken", "not measurable".
const char* CriterionStateName(CriterionState state);

// One thing that was asked for.
struct Criterion {
  std::string name;      // "latency p99", "kill reranker: failed requests"
  std::string wanted;    // "at most 300ms"
  std::string measured;  // "412.7ms"; empty if not measurable
  CriterionState state = CriterionState::kHeld;
  std::string reason;  // not measurable: why, and what to do
};

enum class Ruling { kPass, kFail, kInconclusive };

// "pass", "fail", "inconclusive".
const char* RulingName(Ruling outcome);

int64_t CountOf(const std::vector<Criterion>& criteria, CriterionState state);

// Name of the criterion of wrong answers.
inline constexpr absl::string_view kAnswersCriterion = "answers";

// Exit statuses, beside those of common/config/exit_status.h, which tell what went wrong before
// there was a verdict: kSuccess pass, kFailure fail, 3 inconclusive.
inline constexpr int kInconclusiveStatus = 3;
int ExitStatus(Ruling outcome);

struct Verdict {
  Ruling outcome = Ruling::kInconclusive;
  std::vector<Criterion> criteria;
  std::vector<std::string> doubts;  // why figures cannot be relied on; empty: they can
};

// The first of these that applies:
//   fail          an answer was wrong (in the warm-up, too)
//   inconclusive  the generator did not keep its schedule or took too many answers after their
//                 deadline, no request was sent, or nothing was asked for
//   fail          a criterion is broken
//   inconclusive  one could not be measured
//   pass
// A latency is judged at the upper edge of its histogram's bucket, so a percentile less than
// 1/128 below its limit may be called broken.  A percentile that no ten samples lie beyond
// is not measurable, whatever it seems to be.
//
// Faults of `result` belong to those of the scenario in their order.  Failures after a fault
// are counted over whole seconds, from the one in which it was done to the one in which all
// was whole again, or to the end.  A fault for good lasts to the end.
Verdict Judge(const LoadResult& result, const Scenario& scenario);

// Fills `failed_expectations` of the faults, as Judge sees them: "failed requests: wanted at
// most 0, measured 7".  What is there already stays and breaks the verdict as well.
void NoteFailedExpectations(const Scenario& scenario, LoadResult* result);

// "0.12%", "99.9995%": three digits, and for what is nearly all as many as tell it from all.
std::string FormatShare(double share);
// "1.204s", "412.7ms": four digits.
std::string FormatLatency(absl::Duration latency);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_VERDICT_VERDICT_H_
