#include "common/rpc/server_process.h"

#include <sys/resource.h>

#include <cstdio>
#include <string>

#include "common/base/library_locks.h"
#include "common/config/exit_status.h"
#include "common/config/standard_descriptors.h"
#include "common/log/log.h"
#include "common/rpc/cpu_check.h"
#include "common/rpc/run.h"
#include "common/rpc/shutdown_signals.h"

namespace sightline {
namespace {

struct Flags {
  std::string config;
  bool check = false;
};

int Usage(const char* name, FILE* out) {
  std::fprintf(out,
               "usage: %s --config FILE [--check]\n"
               "  --config FILE  YAML; the service's README lists every key\n"
               "  --check        read the configuration, report its problems, and stop\n",
               name);
  return out == stdout ? WithOutput(kSuccess) : kUsageError;
}

bool ParseFlags(int argc, char** argv, Flags* flags) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view flag = argv[i];
    if (flag == "--check") {
      flags->check = true;
    } else if (flag == "--config" && i + 1 < argc) {
      flags->config = argv[++i];
    } else if (flag.substr(0, 9) == "--config=") {
      flags->config = std::string(flag.substr(9));
    } else {
      std::fprintf(stderr, "unknown argument '%s'\n", argv[i]);
      return false;
    }
  }
  return !flags->config.empty();
}

// As many files as the process may have: a connection is one, and gRPC 1.51 takes no connection any
// more once it has found that it has no file for one.
void RaiseFileLimit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

int Refuse(const absl::Status& configuration) {
  Log(Severity::kError, "configuration refused", {{"error", configuration}});
  return ExitStatusOfConfiguration(configuration);
}

}  // namespace

int RunServerProcess(int argc, char** argv, const char* name, const MakeServer& make) {
  TakeStandardDescriptors();
  if (const char* problem = UnsupportedCpu()) {
    std::fputs(problem, stderr);
    return kFailure;
  }
  for (int i = 1; i < argc; ++i) {
    if (absl::string_view(argv[i]) == "--help") return Usage(name, stdout);
  }
  Flags flags;
  if (!ParseFlags(argc, argv, &flags)) return Usage(name, stderr);
  StopLookingForDeadlocks();
  RaiseFileLimit();
  ShutdownSignals signals;
  // From here on a signal ends the server as it should, however far it is.
  const std::shared_ptr<Cancellation> stop = signals.cancellation();
  LogOptions log;
  log.service = name;
  ConfigureLog(log);

  absl::StatusOr<ConfigFile> file = ConfigFile::Load(flags.config);
  if (!file.ok()) return Refuse(file.status());
  const std::string level =
      file->root().Section("log").Choice("level", "info", {"debug", "info", "warning", "error"});
  ParseSeverity(level, &log.threshold);
  ConfigureLog(log);
  absl::StatusOr<std::unique_ptr<ServerProcess>> server = make(&*file);
  if (!server.ok()) return Refuse(server.status());
  if (flags.check) {
    std::printf("%s: configuration is valid\n", flags.config.c_str());
    return WithOutput(kSuccess);
  }
  if (const absl::Status started = (*server)->Start(stop); !started.ok()) {
    Log(Severity::kError, "start failed", {{"error", started}});
    return ExitStatusOf(started);
  }
  RpcServer* rpc = (*server)->rpc();
  if (!stop->cancelled()) {
    Log(Severity::kInfo, "started", {{"port", rpc->port()}, {"metrics_port", rpc->metrics_port()}});
  }
  const int status = RunUntilSignal(rpc, &signals);
  if (const absl::Status why = EndReason(); !why.ok()) {
    Log(Severity::kError, "stopped, to be started anew", {{"error", why}});
    return ExitStatusOf(why);
  }
  Log(Severity::kInfo, "stopped");
  return status;
}

}  // namespace sightline
