// What a scenario sends and when: arrivals and the requests that belong to them.
#ifndef SIGHTLINE_LOADTEST_RUN_PLANNED_TRAFFIC_H_
#define SIGHTLINE_LOADTEST_RUN_PLANNED_TRAFFIC_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "loadtest/generate/load_generator.h"
#include "loadtest/scenario/scenario.h"
#include "loadtest/scenario/workload.h"
#include "loadtest/schedule/arrivals.h"

namespace sightline {

// How long a run lasts, and its rate.
struct RunPlan {
  absl::Duration warm_up;
  absl::Duration length;  // without warm-up
  ArrivalSpec arrivals;
  // Runs of different rounds send other requests at other moments: what chance did to one, it
  // does not do to all.  A replay is the same in each.
  int round = 0;

  absl::Duration whole() const { return warm_up + length; }
};

// The plan that the scenario itself asks for; for a capacity search, that of its window number
// `round`.
RunPlan PlanOf(const Scenario& scenario);
RunPlan PlanAtRate(const Scenario& scenario, double rate, int round);

// Immutable, thread-safe.
class PlannedTraffic {
 public:
  // Reads what the scenario names: queries of its mix, or its trace with its pictures.
  // Errors of those; `list_items` as for Workload::Load.
  static absl::StatusOr<std::unique_ptr<PlannedTraffic>> Load(
      const Scenario& scenario, const Workload::ListItems& list_items);
  virtual ~PlannedTraffic() = default;

  // Names of the kinds of requests.
  virtual const std::vector<std::string>& kinds() const = 0;
  // When they are sent, anew at each call.
  virtual Arrivals MakeArrivals(const RunPlan& plan) const = 0;
  // Request number n of a round, from 0.  As valid as the traffic.
  virtual PlannedRequest Make(int round, int64_t number) const = 0;
  // As of Workload; none of a replay.
  virtual std::vector<PlannedRequest> ExactQuestions() const { return {}; }
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_RUN_PLANNED_TRAFFIC_H_
