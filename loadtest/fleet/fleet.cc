#include "loadtest/fleet/fleet.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/desired_generation.h"
#include "common/bundle/layout.h"
#include "loadtest/fleet/await_serving.h"
#include "loadtest/fleet/free_ports.h"
#include "loadtest/fleet/process_names.h"

namespace sightline {
namespace {

constexpr char kRouter[] = "router";
constexpr int kLogLines = 8;
// Times that a port may be snatched away from one server.
constexpr int kPortTries = 5;
// For calls in progress to end, when the fleet is stopped.
constexpr absl::Duration kStopPatience = absl::Seconds(10);

// The router's, of what FleetSpec::caches says.
std::string CachesYaml(const std::string& caches) {
  if (caches == "all") return "";
  return absl::StrCat("cache: {", caches == "embeddings" ? "" : "max_embedding_bytes: 0, ",
                      "max_score_bytes: 0, max_result_bytes: 0}\n");
}

std::string FileName(const std::string& process, absl::string_view extension) {
  return absl::StrCat(absl::StrReplaceAll(process, {{"/", "-"}}), extension);
}

absl::Status CheckSizes(const FleetSpec& sizes) {
  const auto check = [](const char* what, int value, int least) {
    if (value >= least && value <= 100) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("a fleet has ", least, " to 100 ", what, ", not ", value));
  };
  RETURN_IF_ERROR(check("query_encoders", sizes.query_encoders, 1));
  RETURN_IF_ERROR(check("rerankers", sizes.rerankers, 0));
  RETURN_IF_ERROR(check("shards", sizes.shards, 1));
  return check("replicas_per_shard", sizes.replicas_per_shard, 1);
}

absl::Status Ended(const std::string& name, int exit_status, const std::string& log) {
  return absl::UnavailableError(absl::StrCat(name, " ended with ", DescribeExit(exit_status),
                                             "; the end of ", log, ":\n",
                                             EndOfLog(log, kLogLines)));
}

}  // namespace

std::string ProcessFleet::Server::address() const {
  return absl::StrCat("127.0.0.1:", port);
}

std::string ProcessFleet::Server::reached_at() const {
  return relay == nullptr ? address() : relay->address();
}

ProcessFleet::ProcessFleet(const ProcessFleetOptions& options)
    : options_(options),
      names_(ProcessNames(options.sizes.query_encoders, options.sizes.rerankers,
                          options.sizes.shards, options.sizes.replicas_per_shard)) {}

absl::StatusOr<std::unique_ptr<ProcessFleet>> ProcessFleet::Start(
    const ProcessFleetOptions& options) {
  RETURN_IF_ERROR(CheckSizes(options.sizes));
  std::unique_ptr<ProcessFleet> fleet(new ProcessFleet(options));
  RETURN_IF_ERROR(fleet->Prepare());
  RETURN_IF_ERROR(fleet->StartAll());
  return fleet;
}

ProcessFleet::~ProcessFleet() {
  for (auto name = names_.rbegin(); name != names_.rend(); ++name) {
    const auto found = runs_.find(*name);
    if (found == runs_.end() || found->second.process == nullptr) continue;
    (void)found->second.process->Signal(SIGTERM);
    (void)found->second.process->Signal(SIGCONT);
  }
  const absl::Time deadline = Clock::Real()->Now() + kStopPatience;
  for (const auto& [name, run] : runs_) {
    if (run.process != nullptr) (void)run.process->Wait(deadline);
  }
}

absl::Status ProcessFleet::Prepare() {
  RETURN_IF_ERROR(ReadIndexes());
  RETURN_IF_ERROR(MakeDirectories(options_.directory));
  for (const std::string& name : names_) {
    Server& server = servers_[name];
    const std::vector<std::string> parts = absl::StrSplit(name, '/');
    server.service = parts[0];
    server.config = JoinPath(options_.directory, FileName(name, ".yaml"));
    server.log = JoinPath(options_.directory, FileName(name, ".log"));
    ::unlink(server.log.c_str());  // of an earlier fleet
    if (server.service == "index_search") {
      (void)absl::SimpleAtoi(parts[1], &server.shard);
      server.more_yaml = absl::StrCat("shards: [", server.shard, "]\n");
    }
    if (server.service == kRouter) server.more_yaml = CachesYaml(options_.sizes.caches);
    if (server.service != kRouter && options_.sizes.remember_verified) {
      // As in production, so that a return costs no reading of the whole store.
      const std::string state = JoinPath(options_.directory, FileName(name, ".state"));
      absl::StrAppend(&server.more_yaml, "state_dir: ", QuotedYaml(state), "\n");
    }
    if (server.service != kRouter && options_.sizes.loading_bytes_per_second > 0) {
      absl::StrAppend(&server.more_yaml,
                      "loading: {max_bytes_per_second: ", options_.sizes.loading_bytes_per_second,
                      "}\n");
    }
    absl::StrAppend(&server.more_yaml, ComputeYaml(server.service));
  }
  for (const std::string& name : options_.relayed) RETURN_IF_ERROR(Find(name).status());
  return absl::OkStatus();
}

std::string ProcessFleet::ComputeYaml(const std::string& service) const {
  std::vector<std::string> keys;
  if (service != kRouter && options_.compute_threads > 0) {
    keys.push_back(absl::StrCat("threads: ", options_.compute_threads));
  }
  if (service == "query_encoder" || service == "reranker") {
    keys.push_back(absl::StrCat("precision: ", options_.sizes.precision));
  }
  return keys.empty() ? "" : absl::StrCat("compute: {", absl::StrJoin(keys, ", "), "}\n");
}

absl::Status ProcessFleet::ReadIndexes() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   ListDirectory(JoinPath(options_.store, "indexes")));
  for (const std::string& index : names) {
    if (!IsValidName(index, limits::kMaxIndexNameLength) ||
        !FileExists(JoinPath(IndexDirectory(options_.store, index), "CURRENT"))) {
      continue;
    }
    ASSIGN_OR_RETURN(const DesiredGeneration desired, ReadDesiredGeneration(options_.store, index));
    const int shards = desired.manifest.shards_size();
    if (shards != options_.sizes.shards) {
      return absl::InvalidArgumentError(absl::StrCat(
          "index ", index, " of ", options_.store, " has ", shards, " shards in its generation ",
          desired.manifest.generation(), ", and the fleet is to have ", options_.sizes.shards,
          "; set shards to ", shards));
    }
    indexes_.push_back(index);
  }
  if (!indexes_.empty()) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(options_.store, " has no published index; run corpus_encoder first"));
}

absl::Status ProcessFleet::StartAll() {
  const absl::Time deadline = Clock::Real()->Now() + options_.start_timeout;
  // The router's configuration names the others' ports, which are settled once they serve.
  for (const std::string& name : names_) {
    if (name != kRouter) RETURN_IF_ERROR(Begin(name));
  }
  for (const std::string& name : names_) {
    if (name == kRouter) RETURN_IF_ERROR(Begin(name));
    RETURN_IF_ERROR(AwaitBegun(name, deadline));
    if (std::count(options_.relayed.begin(), options_.relayed.end(), name) == 0) continue;
    ASSIGN_OR_RETURN(servers_[name].relay, Relay::Start(servers_[name].address()));
  }
  // What answered on a port may have been somebody else's server while ours ended.
  return CheckAll();
}

absl::Status ProcessFleet::Begin(const std::string& name) {
  Server& server = servers_[name];
  ASSIGN_OR_RETURN(const std::vector<int> ports, ChooseFreePorts(1));
  server.port = ports[0];
  RETURN_IF_ERROR(WriteFileAtomically(server.config, Yaml(server)));
  return Launch(name);
}

absl::Status ProcessFleet::AwaitBegun(const std::string& name, absl::Time deadline) {
  const Server& server = servers_[name];
  for (int tries = 1;; ++tries) {
    const absl::Status serves = AwaitServingUntil(name, server, deadline);
    const bool snatched = !ProcessOf(name)->running() && !IsPortFree(server.port);
    if (serves.ok() || !snatched || tries == kPortTries) return serves;
    RETURN_IF_ERROR(Begin(name));
  }
}

std::string ProcessFleet::Yaml(const Server& server) const {
  if (server.service == kRouter) {
    return RouterYaml(server.address(), Backends(), indexes_, server.more_yaml);
  }
  return BackendYaml(server.address(), options_.store, indexes_, server.more_yaml);
}

RouterBackends ProcessFleet::Backends() const {
  RouterBackends backends;
  backends.shards.resize(static_cast<size_t>(options_.sizes.shards));
  // In the order of names_, which is that of numbers; servers_ has "reranker/10" before
  // "reranker/2".
  for (const std::string& name : names_) {
    const Server& server = servers_.at(name);
    if (server.service == "query_encoder") backends.encoders.push_back(server.reached_at());
    if (server.service == "reranker") backends.rerankers.push_back(server.reached_at());
    if (server.service == "index_search") {
      backends.shards[static_cast<size_t>(server.shard)].push_back(server.reached_at());
    }
  }
  return backends;
}

absl::StatusOr<const ProcessFleet::Server*> ProcessFleet::Find(const std::string& name) const {
  const auto found = servers_.find(name);
  if (found != servers_.end()) return &found->second;
  return absl::InvalidArgumentError(absl::StrCat("the fleet has no process '", name, "'"));
}

std::shared_ptr<Process> ProcessFleet::ProcessOf(const std::string& name) const {
  MutexLock lock(mutex_);
  return runs_.at(name).process;
}

std::string ProcessFleet::address() const {
  return servers_.at(kRouter).reached_at();
}

absl::StatusOr<std::string> ProcessFleet::AddressOf(const std::string& name) const {
  ASSIGN_OR_RETURN(const Server* server, Find(name));
  return server->address();
}

absl::StatusOr<Relay*> ProcessFleet::RelayOf(const std::string& name) const {
  ASSIGN_OR_RETURN(const Server* server, Find(name));
  return server->relay.get();
}

absl::Status ProcessFleet::Kill(const std::string& name) {
  RETURN_IF_ERROR(Find(name).status());
  const std::shared_ptr<Process> process = ProcessOf(name);
  RETURN_IF_ERROR(process->Signal(SIGKILL));
  (void)process->Wait();
  MutexLock lock(mutex_);
  Run& run = runs_.at(name);
  if (run.process == process) run.killed = true;
  return absl::OkStatus();
}

absl::Status ProcessFleet::Signal(const std::string& name, int signal) {
  RETURN_IF_ERROR(Find(name).status());
  return ProcessOf(name)->Signal(signal);
}

absl::Status ProcessFleet::Launch(const std::string& name) {
  ASSIGN_OR_RETURN(const Server* server, Find(name));
  const std::string binary =
      JoinPath(options_.binaries, JoinPath(server->service, server->service));
  MutexLock lock(mutex_);
  Run& run = runs_[name];
  if (run.process != nullptr && run.process->running()) {
    return absl::FailedPreconditionError(absl::StrCat(name, " runs"));
  }
  ASSIGN_OR_RETURN(run.process, Process::Start({binary, "--config", server->config}, server->log));
  run.killed = false;
  return absl::OkStatus();
}

absl::Status ProcessFleet::AwaitServing(const std::string& name, absl::Duration timeout) const {
  ASSIGN_OR_RETURN(const Server* server, Find(name));
  return AwaitServingUntil(name, *server, Clock::Real()->Now() + timeout);
}

absl::Status ProcessFleet::AwaitServingUntil(const std::string& name, const Server& server,
                                             absl::Time deadline) const {
  const std::shared_ptr<Process> process = ProcessOf(name);
  const CallContext call(Clock::Real(), deadline, process->end());
  const absl::Status serves = sightline::AwaitServing(server.address(), call);
  if (const absl::optional<int> status = process->exit_status()) {
    return Ended(name, *status, server.log);
  }
  if (serves.ok()) return serves;
  return absl::Status(serves.code(),
                      absl::StrCat(name, " does not serve: ", serves.message(), "; the end of ",
                                   server.log, ":\n", EndOfLog(server.log, kLogLines)));
}

std::map<std::string, absl::Duration> ProcessFleet::CpuTimes() const {
  std::map<std::string, absl::Duration> times;
  for (const std::string& name : names_) {
    const std::shared_ptr<Process> process = ProcessOf(name);
    if (process == nullptr) continue;
    if (const absl::optional<absl::Duration> time = process->cpu_time()) times[name] = *time;
  }
  return times;
}

absl::Status ProcessFleet::Check(const std::string& name) const {
  ASSIGN_OR_RETURN(const Server* server, Find(name));
  const absl::optional<int> status = ProcessOf(name)->exit_status();
  return status ? Ended(name, *status, server->log) : absl::OkStatus();
}

absl::Status ProcessFleet::CheckAll() const {
  for (const std::string& name : names_) {
    bool killed;
    {
      MutexLock lock(mutex_);
      killed = runs_.at(name).killed;
    }
    if (!killed) RETURN_IF_ERROR(Check(name));
  }
  return absl::OkStatus();
}

}  // namespace sightline
