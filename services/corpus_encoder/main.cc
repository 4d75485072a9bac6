#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status_macros.h"
#include "common/config/exit_status.h"
#include "common/config/standard_descriptors.h"
#include "common/image/decode.h"
#include "common/log/log.h"
#include "common/rpc/cpu_check.h"
#include "common/rpc/shutdown_signals.h"
#include "services/corpus_encoder/corpus_encoder.h"
#include "services/corpus_encoder/corpus_encoder_config.h"
#include "services/corpus_encoder/decoder_starter.h"

namespace sightline {
namespace {

int Fail(const absl::Status& status) {
  Log(Severity::kError, "job ended early", {{"error", status}});
  return ExitStatusOf(status);
}

absl::StatusOr<CorpusEncoderConfig> ReadConfig(const CorpusEncoderFlags& flags, LogOptions* log) {
  absl::StatusOr<ConfigFile> file = flags.config_path.empty()
                                        ? ConfigFile::Parse(flags.yaml, "command line")
                                        : ConfigFile::Load(flags.config_path);
  if (!file.ok()) return file.status();
  const std::string level =
      file->root().Section("log").Choice("level", "info", {"debug", "info", "warning", "error"});
  ParseSeverity(level, &log->threshold);
  return ReadCorpusEncoderConfig(&*file);
}

int Main(const std::vector<std::string>& arguments) {
  TakeStandardDescriptors();
  if (const char* problem = UnsupportedCpu()) {
    std::fputs(problem, stderr);
    return kFailure;
  }
  const absl::StatusOr<CorpusEncoderFlags> flags = ParseCorpusEncoderFlags(arguments);
  if (!flags.ok() || flags->help || arguments.empty()) {
    const bool asked = flags.ok() && flags->help;
    if (!flags.ok()) std::fprintf(stderr, "%s\n", std::string(flags.status().message()).c_str());
    std::fputs(CorpusEncoderUsage().c_str(), asked ? stdout : stderr);
    return asked ? WithOutput(kSuccess) : kUsageError;
  }
  // Before anything starts a thread.
  const absl::StatusOr<std::unique_ptr<DecoderStarter>> starter =
      DecoderStarter::Create(DecodeImage);
  EndOnSignals();
  LogOptions log;
  log.service = "corpus_encoder";
  ConfigureLog(log);
  const absl::StatusOr<CorpusEncoderConfig> config = ReadConfig(*flags, &log);
  ConfigureLog(log);
  if (!config.ok()) {
    Log(Severity::kError, "configuration refused", {{"error", config.status()}});
    return ExitStatusOfConfiguration(config.status());
  }
  if (flags->check) {
    std::puts("the configuration is valid");
    return WithOutput(kSuccess);
  }
  if (!starter.ok()) return Fail(starter.status());
  ShutdownSignals signals;
  const CallContext call(Clock::Real(), absl::InfiniteFuture(), signals.cancellation());
  const absl::StatusOr<EncodeSummary> summary =
      RunCorpusEncoder(*config, starter->get(), ::isatty(STDERR_FILENO) == 1, call);
  if (!summary.ok()) return Fail(summary.status());
  std::fputs(summary->Report().c_str(), stdout);
  return WithOutput(kSuccess);
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  return sightline::Main(std::vector<std::string>(argv + 1, argv + argc));
}
