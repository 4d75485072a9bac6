#include "services/trainer/train_command.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "common/base/call_context.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/config/config.h"
#include "common/rpc/shutdown_signals.h"
#include "common/training/joint_trainer.h"
#include "services/trainer/train_config.h"
#include "services/trainer/train_run.h"
#include "services/trainer/training_reporter.h"

namespace sightline {
namespace {

struct TrainFlags {
  std::string config;
  TrainOverrides overrides;
  bool check = false;
};

Flags DefineFlags(TrainFlags* values) {
  TrainOverrides& overrides = values->overrides;
  Flags flags;
  flags.String("config", "FILE", "YAML; services/trainer/README.md lists every key",
               &values->config);
  flags.String("data", "DIR", "folder that `trainer prepare` has written", &overrides.data);
  flags.String("out", "DIR", "for metrics and checkpoints", &overrides.out);
  flags.String("store", "DIR", "the bundle is written below its models/", &overrides.store);
  flags.String("model-config", "FILE",
               "JSON of a ModelBundleManifest without files; default: the demo's small OSCAR",
               &overrides.model_config);
  flags.String("start", "SHA256",
               "bundle in the store whose weights to begin with; default: random",
               &overrides.start);
  flags.String("retriever", "SHA256",
               "bundle in the store that an earlier run has trained; a cross-encoder is trained for"
               " what it retrieves",
               &overrides.retriever);
  flags.String("device", "NAME", "auto, cpu, cuda or cuda:N; default auto", &overrides.device);
  flags.Int("threads", "of LibTorch on the CPU; default: the cores there are", 1,
            limits::kMaxThreads, &overrides.threads);
  flags.Int("seed", "of all that is random", 0, INT64_MAX, &overrides.seed);
  flags.Switch("check", "read the configuration, report its problems, and stop", &values->check);
  return flags;
}

absl::StatusOr<TrainConfig> ReadConfig(const TrainFlags& flags) {
  absl::StatusOr<ConfigFile> file =
      flags.config.empty() ? ConfigFile::Parse("", "command line") : ConfigFile::Load(flags.config);
  if (!file.ok()) return file.status();
  return ReadTrainConfig(&*file, flags.overrides);
}

absl::StatusOr<TrainingResult> Train(const TrainConfig& config, const Console& console) {
  ShutdownSignals signals;
  const CallContext call(Clock::Real(), absl::InfiniteFuture(), signals.cancellation());
  ASSIGN_OR_RETURN(const TrainingInput input, OpenTrainingInput(config, call));
  RunLog::Options options;
  options.metrics_path = JoinPath(config.out, kMetricsFile);
  options.terminal = ::isatty(STDERR_FILENO) == 1;
  options.write = [&console](absl::string_view text) { console.err << text << std::flush; };
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainingReporter> reporter,
                   TrainingReporter::Create(options));
  absl::StatusOr<TrainingResult> result = TrainJointModel(input.job, reporter.get(), call);
  reporter->End();
  return result;
}

}  // namespace

int RunTrain(const std::vector<std::string>& args, const Console& console) {
  TrainFlags values;
  Flags flags = DefineFlags(&values);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kTrainCommand, &flags, args, console, &words, &status)) return status;
  if (!words.empty()) return UsageError(kTrainCommand, "there are flags only", console);
  const absl::StatusOr<TrainConfig> config = ReadConfig(values);
  if (!config.ok()) {
    Fail(config.status(), console);
    return ExitStatusOfConfiguration(config.status());
  }
  if (values.check) {
    console.out << "the configuration is valid\n";
    return kSuccess;
  }
  const absl::StatusOr<TrainingResult> result = Train(*config, console);
  if (absl::IsCancelled(result.status())) {
    console.err << "stopped; the same command continues at the last checkpoint\n";
    return kRunAgain;
  }
  if (!result.ok()) return Fail(result.status(), console);
  console.err << "trained on " << result->device << "; " << ValidationLine(result->validation)
              << "\nwritten to " << result->bundle.directory << "\n";
  console.out << result->bundle.id << "\n";
  return kSuccess;
}

}  // namespace sightline
