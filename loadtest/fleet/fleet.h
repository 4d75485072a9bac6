// A fleet of server processes on this machine, over a store that is there: to be loaded,
// hurt and mended.
//
//   ProcessFleetOptions options;
//   options.sizes = *scenario.fleet;
//   options.store = "store";
//   options.binaries = "bazel-bin/services";
//   options.directory = "run";
//   ASSIGN_OR_RETURN(std::unique_ptr<ProcessFleet> fleet, ProcessFleet::Start(options));
//   ... load fleet->address() ...
//   fleet->Kill("reranker/0");
//   fleet->Launch("reranker/0");
#ifndef SIGHTLINE_LOADTEST_FLEET_FLEET_H_
#define SIGHTLINE_LOADTEST_FLEET_FLEET_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "loadtest/faults/relay.h"
#include "loadtest/fleet/process.h"
#include "loadtest/fleet/server_yaml.h"
#include "loadtest/scenario/scenario.h"

namespace sightline {

struct ProcessFleetOptions {
  // How many of each; `sizes.store` is not looked at.
  FleetSpec sizes;
  // Every published index of it is served.
  std::string store;
  // Folder with router/router, index_search/index_search and so on: bazel-bin/services.
  std::string binaries;
  // Where <process>.yaml, <process>.log and the servers' state are kept, "/" in names
  // written "-"; made if it is not there.  Two fleets need two.
  std::string directory;
  // Names of processes that are reached through a relay, so that they can be delayed.
  std::vector<std::string> relayed;
  // How long all of them together may take until they serve.
  absl::Duration start_timeout = absl::Minutes(2);
  // Threads that compute, in each backend; 0: the server's default, one a core.
  int compute_threads = 0;
};

// Processes are named as in process_names.h; another name is InvalidArgument.
// Thread-safe, but for the destructor.
class ProcessFleet {
 public:
  // Returns when the router is SERVING.  InvalidArgument for sizes that cannot be, or that
  // are not the store's; NotFound without store or binaries; DeadlineExceeded; Unavailable,
  // with the end of its log, if a server ended instead of serving.  Nothing remains running
  // after an error.
  static absl::StatusOr<std::unique_ptr<ProcessFleet>> Start(const ProcessFleetOptions& options);

  // Stops all: the router first, each kindly.
  ~ProcessFleet();
  ProcessFleet(const ProcessFleet&) = delete;
  ProcessFleet& operator=(const ProcessFleet&) = delete;

  const std::string& store() const { return options_.store; }

  // The router's, through its relay if it has one.
  std::string address() const;

  // Processes in the order of their start; the router is the last.
  const std::vector<std::string>& names() const { return names_; }
  // The address that a process listens on, of the same port for the fleet's life.
  absl::StatusOr<std::string> AddressOf(const std::string& name) const;
  // Null if it is not reached through one.  The fleet's.
  absl::StatusOr<Relay*> RelayOf(const std::string& name) const;

  // SIGKILL; returns when it is gone.  FailedPrecondition if it does not run.
  absl::Status Kill(const std::string& name);
  // Any signal: SIGSTOP, SIGCONT.  FailedPrecondition if it does not run.
  absl::Status Signal(const std::string& name, int signal);

  // Runs a process that has ended again, with the configuration and the port it had.
  // FailedPrecondition if it still runs.
  absl::Status Launch(const std::string& name);
  // Returns when it is SERVING; errors as of Start.
  absl::Status AwaitServing(const std::string& name, absl::Duration timeout) const;

  // User and system time of each process that runs, since its start.
  std::map<std::string, absl::Duration> CpuTimes() const;

  // OK if the process runs; Unavailable, with the end of its log, if it has ended.
  absl::Status Check(const std::string& name) const;
  // OK if every process runs that nobody killed (Kill): a server that died by itself is a
  // finding, whatever the load test was about.
  absl::Status CheckAll() const;

 private:
  struct Server {
    std::string service;  // "index_search"
    int shard = 0;        // of an index_search
    std::string more_yaml;
    int port = 0;
    std::string config, log;         // files
    std::unique_ptr<Relay> relay;    // may be null
    std::string address() const;     // its own
    std::string reached_at() const;  // its relay's if it has one
  };

  // The last launch of a server.
  struct Run {
    std::shared_ptr<Process> process;  // null if it could not be started
    bool killed = false;               // by Kill
  };

  explicit ProcessFleet(const ProcessFleetOptions& options);
  absl::Status Prepare();
  absl::Status StartAll();
  absl::Status ReadIndexes();
  // The section `compute` of such a server; "" for none.
  std::string ComputeYaml(const std::string& service) const;
  // Chooses a port, writes the configuration and runs the server.
  absl::Status Begin(const std::string& name);
  // Waits until it serves; a server whose port was snatched away begins again.
  absl::Status AwaitBegun(const std::string& name, absl::Time deadline);
  std::string Yaml(const Server& server) const;
  RouterBackends Backends() const;
  absl::StatusOr<const Server*> Find(const std::string& name) const;
  std::shared_ptr<Process> ProcessOf(const std::string& name) const EXCLUDES(mutex_);
  absl::Status AwaitServingUntil(const std::string& name, const Server& server,
                                 absl::Time deadline) const;

  const ProcessFleetOptions options_;
  const std::vector<std::string> names_;
  std::vector<std::string> indexes_;
  std::map<std::string, Server> servers_;  // by name; fixed once started
  mutable Mutex mutex_;
  std::map<std::string, Run> runs_ GUARDED_BY(mutex_);  // by name, of those launched so far
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_FLEET_FLEET_H_
