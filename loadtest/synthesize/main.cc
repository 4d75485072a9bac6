#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/config/exit_status.h"
#include "common/log/log.h"
#include "common/rpc/cpu_check.h"
#include "common/rpc/shutdown_signals.h"
#include "loadtest/synthesize/synthesize_command.h"

int main(int argc, char** argv) {
  if (const char* problem = sightline::UnsupportedCpu()) {
    std::fputs(problem, stderr);
    return sightline::kFailure;
  }
  sightline::LogOptions log;
  log.service = "synthesize";
  sightline::ConfigureLog(log);
  sightline::ShutdownSignals signals;
  const sightline::CallContext call(sightline::Clock::Real(), absl::InfiniteFuture(),
                                    signals.cancellation());
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return sightline::WithOutput(
      sightline::RunSynthesize(args, {std::cout, std::cerr}, ::isatty(STDERR_FILENO) == 1, call));
}
