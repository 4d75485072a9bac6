// `compare`: whether the fleet answers what this process computes.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_COMPARE_COMMAND_H_
#define SIGHTLINE_SERVICES_EVALUATOR_COMPARE_COMMAND_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/config/command.h"
#include "common/evaluation/agreement.h"
#include "common/evaluation/ranker.h"
#include "services/evaluator/differences.h"

namespace sightline {

int RunCompare(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kCompareCommand = {
    "compare", "evaluator compare --store DIR [--router ADDR] [flags]",
    "tells whether a fleet gives the ranking and the scores that this process computes",
    RunCompare};

// Puts the queries through both, batch by batch.  `request` has one method, and `grid` is
// that of its scores (GridOf).  `see`, unless it is null, is called with each pair of lists.  The
// errors of either.
absl::StatusOr<Agreement> CompareRankers(
    const RankRequest& request, float grid, Ranker* expected, Ranker* actual,
    const CallContext& call, const std::function<void(const ComparedLists&)>& see = nullptr);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_COMPARE_COMMAND_H_
