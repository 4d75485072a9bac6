#include "services/trainer/scenes_net_command.h"

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"
#include "common/log/progress.h"
#include "common/rpc/shutdown_signals.h"
#include "common/training/scenes/detector_accuracy.h"
#include "common/training/scenes/region_net_trainer.h"
#include "common/training/scenes/scene_detector.h"
#include "services/trainer/scene_drawings.h"

namespace sightline {
namespace {

constexpr int64_t kMeasuredPictures = 200;  // of each kind
constexpr uint64_t kMeasuredSeed = 2;

constexpr int64_t kMostWeightBytes = 64 << 20;

struct ScenesNetFlags {
  std::string out, measured;
  int64_t steps = RegionNetJob().steps;
  uint64_t seed = RegionNetJob().seed;
  int threads = UsableCores();
};

Flags DefineFlags(ScenesNetFlags* values) {
  Flags flags;
  flags.String("out", "FILE", "the weights, as safetensors", &values->out);
  flags.String("measure", "FILE", "train nothing: tell how much the net of FILE sees",
               &values->measured);
  flags.Int("steps", "of 168 crops each; default 2400", 1, 1'000'000, &values->steps);
  flags.Int("seed", "of all that is drawn; default 1", 0, std::numeric_limits<int64_t>::max(),
            &values->seed);
  flags.Int("threads", "cores to use; default: all", 1, limits::kMaxThreads, &values->threads);
  return flags;
}

absl::StatusOr<std::string> Measure(absl::string_view weights, const DrawingSet& drawings,
                                    const CallContext& call) {
  ASSIGN_OR_RETURN(const auto detector, SceneDetector::FromBytes(weights));
  std::string report;
  for (const SceneKind kind :
       {SceneKind::kPlain, SceneKind::kNewDrawing, SceneKind::kNewCombination}) {
    ASSIGN_OR_RETURN(
        const DetectorAccuracy accuracy,
        MeasureDetector(*detector, drawings, kind, kMeasuredPictures, kMeasuredSeed, call));
    absl::StrAppend(&report, AccuracyLine(kind, accuracy), "\n");
  }
  return report;
}

absl::StatusOr<std::string> TrainAndMeasure(const ScenesNetFlags& flags) {
  ShutdownSignals signals;
  const CallContext call(Clock::Real(), absl::InfiniteFuture(), signals.cancellation());
  ASSIGN_OR_RETURN(const DrawingSet drawings, ReadSceneDrawings());
  if (!flags.measured.empty()) {
    ASSIGN_OR_RETURN(const std::string weights, ReadFile(flags.measured, kMostWeightBytes));
    return Measure(weights, drawings, call);
  }
  // Before an hour's work, not behind it.
  ASSIGN_OR_RETURN(const std::unique_ptr<AtomicFile> out, AtomicFile::Create(flags.out));
  RegionNetJob job;
  job.drawings = &drawings;
  job.steps = flags.steps;
  job.seed = flags.seed;
  job.threads = flags.threads;
  Progress progress(Progress::OnStandardError(), Clock::Real());
  ASSIGN_OR_RETURN(const std::string weights, TrainRegionNet(job, &progress, call));
  RETURN_IF_ERROR(out->WriteAt(0, weights));
  RETURN_IF_ERROR(out->Commit());
  ASSIGN_OR_RETURN(const std::string report, Measure(weights, drawings, call));
  return absl::StrCat(report, Sha256Hex(weights), "  ", flags.out, "\n");
}

}  // namespace

int RunScenesNet(const std::vector<std::string>& args, const Console& console) {
  ScenesNetFlags values;
  Flags flags = DefineFlags(&values);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kScenesNetCommand, &flags, args, console, &words, &status)) return status;
  if (values.out.empty() == values.measured.empty() || !words.empty()) {
    return UsageError(kScenesNetCommand, "give --out FILE or --measure FILE", console);
  }
  const absl::StatusOr<std::string> report = TrainAndMeasure(values);
  if (absl::IsCancelled(report.status())) {
    console.err << "interrupted; the same command begins anew\n";
    return kRunAgain;
  }
  if (!report.ok()) return Fail(report.status(), console);
  console.out << *report;
  return kSuccess;
}

}  // namespace sightline
