// A scenario's faults, done to a fleet of processes.
#ifndef SIGHTLINE_LOADTEST_FAULTS_FLEET_FAULTS_H_
#define SIGHTLINE_LOADTEST_FAULTS_FLEET_FAULTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "loadtest/faults/fault_schedule.h"
#include "loadtest/fleet/fleet.h"
#include "loadtest/scenario/scenario.h"

namespace sightline {

// The processes that must be reached through a relay for these faults: what
// ProcessFleetOptions::relayed is to be.  InvalidArgument for a target that such a fleet
// does not have.
absl::StatusOr<std::vector<std::string>> RelayedProcesses(const FleetSpec& fleet,
                                                          const std::vector<FaultSpec>& faults);

// Targets are as ResolveProcess (process_names.h) reads them.  A delay is FailedPrecondition for
// a process without a relay.
class FleetFaults : public FaultActions {
 public:
  // `fleet` outlives this.
  explicit FleetFaults(ProcessFleet* fleet) : fleet_(fleet) {}

  absl::Status Do(const FaultSpec& fault) override;
  absl::Status Undo(const FaultSpec& fault) override;
  absl::Status Check(const std::string& target) override;

 private:
  absl::Status SetDelay(const std::string& name, absl::Duration each_way);
  absl::Status Publish(const std::string& index);
  absl::Status CheckServed(const std::string& index);

  ProcessFleet* const fleet_;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_FAULTS_FLEET_FAULTS_H_
