#include "services/trainer/learn_command.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/call_context.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"
#include "common/config/config.h"
#include "common/log/log.h"
#include "common/models/family_manifests.h"
#include "common/rpc/shutdown_signals.h"
#include "common/training/world_options.h"
#include "services/trainer/learn_config.h"
#include "services/trainer/learn_run.h"
#include "services/trainer/local_processes.h"
#include "services/trainer/recipe_reporter.h"

namespace sightline {
namespace {

struct LearnFlags {
  std::string recipe;
  LearnOverrides overrides;
  int64_t processes = 1;
  bool check = false;
};

constexpr char kProcessesFlag[] = "processes";

// A machine with fewer cores starts so many for the sake of trying.
constexpr int kTriedProcesses = 8;

Flags DefineFlags(LearnFlags* values) {
  LearnOverrides& overrides = values->overrides;
  Flags flags;
  flags.String("recipe", "FILE", "YAML; services/trainer/recipes has one of each paper",
               &values->recipe);
  flags.String("start", "BUNDLE",
               "what learns: a bundle's folder, or the id of one in the store; sightlinectl "
               "init-model and convert make some",
               &overrides.start);
  flags.Strings("corpus", "KIND:PATH",
                "regions with captions to learn from: regions:FILE, npz:DIR, karpathy:FILE,...; "
                "repeatable",
                &overrides.corpora);
  flags.Strings("development", "KIND:PATH",
                "likewise: what the weights are chosen by; default: the corpora's validation split",
                &overrides.development);
  flags.String("out", "DIR", "for metrics and checkpoints", &overrides.out);
  flags.String("store", "DIR", "the bundle is written below its models/", &overrides.store);
  flags.String("device", "NAME", "auto, cpu, cuda or cuda:N; default auto", &overrides.device);
  flags.Int("threads", "of LibTorch on the CPU; default: the cores there are", 1,
            limits::kMaxThreads, &overrides.threads);
  flags.Int(
      kProcessesFlag,
      "of this machine that learn together; on a CPU one a core is fastest for small networks, "
      "each with a copy of the weights and what is learnt by",
      1, kMostProcesses, &values->processes);
  flags.Int("seed", "of all that is random", 0, INT64_MAX, &overrides.seed);
  flags.Int("steps", "in the place of the recipe's", 1, INT64_MAX, &overrides.steps);
  flags.Switch("check", "read the recipe, report its problems, and stop", &values->check);
  return flags;
}

absl::StatusOr<LearnConfig> ReadConfig(LearnFlags flags) {
  ASSIGN_OR_RETURN(flags.overrides.local_processes, LocalProcesses());
  ASSIGN_OR_RETURN(ConfigFile file, ConfigFile::Load(flags.recipe));
  return ReadLearnConfig(&file, flags.overrides);
}

// Of processes that are not the first, which reports for all: what is theirs alone.
class NotesObserver : public RecipeObserver {
 public:
  explicit NotesObserver(int rank) : rank_(rank) {}

  void OnStep(const RecipeStepReport&) override {}
  void OnDevelopment(const DevelopmentReport&, bool) override {}
  void OnCheckpoint(int64_t, const std::string&, int64_t) override {}
  void OnNote(absl::string_view message) override {
    Log(Severity::kInfo, "note", {{"rank", rank_}, {"message", message}});
  }
  void OnWarning(absl::string_view message) override {
    Log(Severity::kWarning, "note", {{"rank", rank_}, {"message", message}});
  }

 private:
  const int rank_;
};

// How much there is, and what is not.
void TellOfCorpus(absl::string_view what, const PairCorpus& corpus, RecipeObserver* observer) {
  observer->OnNote(absl::StrCat(what, ": ", corpus.picture_count(), " pictures, ",
                                corpus.caption_count(), " captions, regions of ",
                                corpus.region_feature_size(), " numbers"));
  for (const std::string& note : corpus.Notes()) observer->OnNote(absl::StrCat(what, ": ", note));
}

constexpr char kStopped[] = "stopped; the same command continues at the last checkpoint\n";

// Nothing has been begun that is worth ending well.
void Leave() {
  pollfd errors = {STDERR_FILENO, POLLOUT, 0};
  if (::poll(&errors, 1, 0) == 1) (void)!::write(STDERR_FILENO, kStopped, sizeof(kStopped) - 1);
  ::_exit(kRunAgain);
}

absl::StatusOr<RecipeResult> Learn(const LearnConfig& config, const TrainingWorldOptions& world,
                                   const Console& console) {
  ShutdownSignals signals;
  const CallContext call(Clock::Real(), absl::InfiniteFuture(), signals.cancellation());
  ASSIGN_OR_RETURN(LearnInput input, OpenLearnInput(config, world));
  Cancellation::Registration leaves;
  input.job.on_meeting = [&](bool waits) {
    leaves = waits ? signals.cancellation()->OnCancel(Leave) : Cancellation::Registration();
  };
  if (world.rank > 0) {
    NotesObserver notes(world.rank);
    return TrainByRecipe(input.job, &notes, call);
  }
  RunLog::Options options;
  options.metrics_path = JoinPath(config.out, kMetricsFile);
  options.terminal = ::isatty(STDERR_FILENO) == 1;
  options.write = [&console](absl::string_view text) { console.err << text << std::flush; };
  ASSIGN_OR_RETURN(std::unique_ptr<RunLog> log, RunLog::Create(options));
  RecipeReporter reporter(std::move(log));
  TellOfCorpus("what is learnt from", *input.learnt, &reporter);
  const std::string width = input.learnt->NoteOfWidth(RegionFeatureSizesOf(input.start->manifest));
  if (!width.empty()) reporter.OnNote(width);
  TellOfCorpus("what the weights are chosen by", *input.development, &reporter);
  absl::StatusOr<RecipeResult> result = TrainByRecipe(input.job, &reporter, call);
  reporter.End();
  return result;
}

// Several processes of this machine, each with these arguments but for how many there are.
int LearnTogether(const std::vector<std::string>& args, int count, const Console& console) {
  std::vector<std::string> arguments = {"trainer", "learn"};
  const std::string flag = absl::StrCat("--", kProcessesFlag);
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == flag) {
      ++i;
    } else if (!absl::StartsWith(args[i], flag + "=")) {
      arguments.push_back(args[i]);
    }
  }
  const absl::StatusOr<int> status = RunLocalProcesses(arguments, count);
  return status.ok() ? *status : Fail(status.status(), console);
}

}  // namespace

int RunLearn(const std::vector<std::string>& args, const Console& console) {
  LearnFlags values;
  Flags flags = DefineFlags(&values);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kLearnCommand, &flags, args, console, &words, &status)) return status;
  if (values.recipe.empty() || !words.empty()) {
    return UsageError(kLearnCommand, "give --recipe FILE", console);
  }
  const absl::StatusOr<LearnConfig> config = ReadConfig(values);
  if (!config.ok()) {
    Fail(config.status(), console);
    return ExitStatusOfConfiguration(config.status());
  }
  if (values.check) {
    console.out << "the recipe is valid\n";
    return kSuccess;
  }
  const absl::StatusOr<TrainingWorldOptions> world = WorldOptionsOfEnvironment();
  if (!world.ok()) {
    Fail(world.status(), console);
    return kUsageError;
  }
  const int most = std::max(UsableCores(), kTriedProcesses);
  if (values.processes > most) {
    return UsageError(
        kLearnCommand,
        absl::StrCat("--processes is ", values.processes, ", and of this machine, of ",
                     UsableCores(), " cores, at most ", most,
                     " learn together: each has all that is learnt from in memory of its own, and "
                     "all wait for the slowest"),
        console);
  }
  if (values.processes > 1) {
    if (world->size > 1) {
      return UsageError(kLearnCommand,
                        "the environment's WORLD_SIZE says that this is one of several processes "
                        "already; leave --processes out",
                        console);
    }
    return LearnTogether(args, static_cast<int>(values.processes), console);
  }
  const absl::StatusOr<RecipeResult> result = Learn(*config, *world, console);
  if (absl::IsCancelled(result.status())) {
    console.err << kStopped;
    return kRunAgain;
  }
  if (!result.ok()) return Fail(result.status(), console);
  if (world->rank > 0) {
    console.err << absl::StrCat("process ", world->rank, " of ", world->size, " is done\n");
    return kSuccess;
  }
  // Each at once: processes of one machine share the stream.
  console.err << absl::StrCat("trained on ", result->device, "; ",
                              DevelopmentLine(result->development), "\nwritten to ",
                              result->bundle.directory, "\n");
  console.out << result->bundle.id << "\n";
  return kSuccess;
}

}  // namespace sightline
