#include "loadtest/run/load_session.h"

#include <sys/resource.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/desired_generation.h"
#include "common/bundle/layout.h"
#include "common/bundle/shard_vectors.h"
#include "loadtest/faults/fault_schedule.h"
#include "loadtest/faults/fleet_faults.h"
#include "loadtest/faults/recovery.h"
#include "loadtest/generate/load_generator.h"
#include "loadtest/measure/recorder.h"
#include "loadtest/run/ask_exactly.h"
#include "loadtest/run/device_uses.h"
#include "loadtest/run/environment.h"
#include "loadtest/verdict/verdict.h"

namespace sightline {
namespace {

absl::StatusOr<std::vector<std::string>> ItemIds(const std::string& store,
                                                 const std::string& index) {
  if (store.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("queries by items of index '", index,
                     "' need their ids: name a file of them as `queries`, or give --store"));
  }
  ASSIGN_OR_RETURN(const DesiredGeneration desired, ReadDesiredGeneration(store, index));
  const bundle::v1::GenerationManifest& manifest = desired.manifest;
  const std::string directory = GenerationDirectory(store, index, manifest.generation());
  std::vector<std::string> ids;
  for (const bundle::v1::ShardManifest& shard : manifest.shards()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ShardVectors> vectors,
                     ShardVectors::Open(JoinPath(directory, shard.vectors().path()), shard,
                                        manifest.embedding().dimension()));
    for (int64_t row = 0; row < vectors->size(); ++row) ids.emplace_back(vectors->item_id(row));
  }
  return ids;
}

// User and system time of this process.
absl::Duration CpuTime() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoadSession>> LoadSession::Open(const Scenario& scenario,
                                                               const SessionOptions& options) {
  if (options.targets.empty() && !scenario.fleet.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "scenario '", scenario.name, "' describes no fleet; give --target ADDRESS, or a `fleet`"));
  }
  if (!options.targets.empty() && !scenario.faults.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("scenario '", scenario.name,
                     "' has faults, and these can only be done to a fleet of the load test's own; "
                     "leave --target out"));
  }
  std::unique_ptr<LoadSession> session(new LoadSession(scenario, options));
  const std::string store = options.store;
  ASSIGN_OR_RETURN(session->traffic_,
                   PlannedTraffic::Load(scenario, [&store](const std::string& index) {
                     return ItemIds(store, index);
                   }));
  if (options.targets.empty()) RETURN_IF_ERROR(session->StartFleet());
  session->Connect();
  return session;
}

absl::Status LoadSession::StartFleet() {
  ProcessFleetOptions fleet;
  fleet.sizes = *scenario_.fleet;
  fleet.store = options_.store;
  fleet.binaries = options_.binaries;
  fleet.directory = options_.directory;
  ASSIGN_OR_RETURN(fleet.relayed, RelayedProcesses(fleet.sizes, scenario_.faults));
  ASSIGN_OR_RETURN(fleet_, ProcessFleet::Start(fleet));
  return absl::OkStatus();
}

void LoadSession::Connect() {
  const std::vector<std::string> addresses = Routers();
  for (int i = 0; i < scenario_.connections; ++i) {
    clients_.push_back(MakeGrpcSearchClient(addresses[i % addresses.size()]));
  }
}

absl::StatusOr<LoadResult> LoadSession::Run(const RunPlan& plan, bool with_faults,
                                            const CallContext& call) {
  Clock* const clock = call.clock();
  Recorder recorder({traffic_->kinds(), plan.warm_up, plan.length, scenario_.slo.late_after()});
  GeneratorOptions options;
  options.max_outstanding = scenario_.max_outstanding;
  options.check_answers = scenario_.check_answers;
  // Before anything is counted.
  if (!exact_answers_.has_value()) {
    ASSIGN_OR_RETURN(exact_answers_, AskExactly(*traffic_, clients_[0].get(), call));
  }
  options.exact_answers = &*exact_answers_;
  LoadGenerator generator(
      options, clients_,
      [this, &plan](int64_t number) { return traffic_->Make(plan.round, number); }, &recorder,
      clock);
  Arrivals arrivals = traffic_->MakeArrivals(plan);

  const std::vector<DeviceUse> devices_before = AskDevices(Routers(), AskStatusByGrpc(call));
  const absl::Time started = clock->Now();
  const absl::Duration cpu_before = CpuTime();
  const std::map<std::string, absl::Duration> servers_before = ServerCpuTimes();
  std::unique_ptr<FleetFaults> actions;
  std::unique_ptr<FaultSchedule> schedule;
  if (with_faults && !scenario_.faults.empty()) {
    actions = std::make_unique<FleetFaults>(fleet_.get());
    schedule = std::make_unique<FaultSchedule>(scenario_.faults, started, plan.warm_up,
                                               actions.get(), clock);
  }
  RETURN_IF_ERROR(generator.Run(std::move(arrivals), call));

  LoadResult result = recorder.Result();
  result.generator.cpu = CpuTime() - cpu_before;
  for (const auto& [server, after] : ServerCpuTimes()) {
    const auto before = servers_before.find(server);
    // One that was started anew counts from then on.
    if (before == servers_before.end() || after < before->second) continue;
    result.server_cpu_us[server] = absl::ToInt64Microseconds(after - before->second);
  }
  result.devices = UsesBetween(devices_before, AskDevices(Routers(), AskStatusByGrpc(call)));
  result.scenario = scenario_.name;
  result.target = fleet_ == nullptr ? absl::StrJoin(options_.targets, ",")
                                    : absl::StrCat("own fleet, router at ", fleet_->address());
  result.started = started;
  result.environment = DescribeEnvironment();
  if (schedule != nullptr) {
    result.faults = schedule->Finish();
    FindRecoveries(result.seconds, &result.faults);
    NoteFailedExpectations(scenario_, &result);
  }
  return result;
}

std::vector<std::string> LoadSession::Routers() const {
  return fleet_ == nullptr ? options_.targets : std::vector<std::string>{fleet_->address()};
}

std::map<std::string, absl::Duration> LoadSession::ServerCpuTimes() const {
  return fleet_ == nullptr ? std::map<std::string, absl::Duration>() : fleet_->CpuTimes();
}

absl::Status LoadSession::CheckFleet() const {
  return fleet_ == nullptr ? absl::OkStatus() : fleet_->CheckAll();
}

}  // namespace sightline
