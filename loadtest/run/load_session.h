// A fleet to load, and runs over it.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadSession> session, LoadSession::Open(scenario, options));
//   ASSIGN_OR_RETURN(LoadResult result, session->Run(PlanOf(scenario), call));
#ifndef SIGHTLINE_LOADTEST_RUN_LOAD_SESSION_H_
#define SIGHTLINE_LOADTEST_RUN_LOAD_SESSION_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/clients/search_client.h"
#include "loadtest/fleet/fleet.h"
#include "loadtest/measure/exact_answers.h"
#include "loadtest/measure/load_result.h"
#include "loadtest/run/planned_traffic.h"
#include "loadtest/scenario/scenario.h"

namespace sightline {

struct SessionOptions {
  // Routers that run already.  Empty: the scenario's own fleet is started.
  std::vector<std::string> targets;
  // What a fleet of its own serves, and where ids of items are looked up.  May be empty with
  // targets, if no entry of the mix needs the ids.
  std::string store;
  // Folder with router/router and the other servers.
  std::string binaries;
  // Where configurations and logs of a fleet of its own go.
  std::string directory;
};

// One run at a time.
class LoadSession {
 public:
  // Starts the fleet if there is none.  InvalidArgument for a scenario without a fleet and no
  // target, or with faults and a target: only own processes can be hurt.  Other errors as
  // queries, store and fleet report them.
  static absl::StatusOr<std::unique_ptr<LoadSession>> Open(const Scenario& scenario,
                                                           const SessionOptions& options);

  // The scenario's faults are done if `with_faults`.  Cancelled if `call` is.  The first run asks
  // for the exact answers that recall is measured against, with the errors of AskExactly.
  absl::StatusOr<LoadResult> Run(const RunPlan& plan, bool with_faults, const CallContext& call);

  // OK unless a server of the own fleet died by itself.
  absl::Status CheckFleet() const;

 private:
  LoadSession(const Scenario& scenario, const SessionOptions& options)
      : scenario_(scenario), options_(options) {}
  absl::Status StartFleet();
  // Of the own fleet; none without one.
  std::vector<std::string> Routers() const;  // their addresses
  std::map<std::string, absl::Duration> ServerCpuTimes() const;
  void Connect();

  const Scenario scenario_;
  const SessionOptions options_;
  std::unique_ptr<PlannedTraffic> traffic_;
  std::unique_ptr<ProcessFleet> fleet_;  // null with targets
  std::vector<std::shared_ptr<SearchClient>> clients_;
  absl::optional<ExactAnswers> exact_answers_;  // none before the first run
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_RUN_LOAD_SESSION_H_
