#include "services/trainer/scenes_command.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"
#include "common/log/progress.h"
#include "common/rpc/shutdown_signals.h"
#include "common/scenes/region_net_weights.h"
#include "common/scenes/scene_controls.h"
#include "common/scenes/scene_files.h"
#include "common/scenes/scene_pictures.h"
#include "common/scenes/scene_set.h"
#include "common/training/scenes/scene_detector.h"
#include "services/trainer/scene_drawings.h"
#include "services/trainer/scene_features.h"

namespace sightline {
namespace {

constexpr SceneSplit kPools[] = {SceneSplit::kValidation, SceneSplit::kTest1k, SceneSplit::kTest5k};

struct ScenesFlags {
  std::string out;
  SceneOptions options;
  std::vector<std::string> painted, seen;
  bool append_boxes = false;
  absl::optional<int64_t> first, threads;
};

Flags DefineFlags(ScenesFlags* values) {
  constexpr int64_t kMost = 200'000;
  auto& sizes = values->options.sizes;
  Flags flags;
  flags.String("out", "DIR", "folder to write; what an earlier run wrote is replaced",
               &values->out);
  flags.Int("seed", "of all that is drawn; default 1, the benchmark's", 0,
            std::numeric_limits<int64_t>::max(), &values->options.seed);
  flags.Int("train", "pictures, a multiple of ten; default 30000", 0, kMost, &sizes[0]);
  flags.Int("validation", "likewise; default 1000", 0, kMost, &sizes[1]);
  flags.Int("test-1k", "likewise; default 1000", 0, kMost, &sizes[2]);
  flags.Int("test-5k", "likewise; default 5000", 0, kMost, &sizes[3]);
  flags.Int("distractors", "likewise; default 100000", 0, kMost, &sizes[4]);
  flags.Strings("paint", "SPLIT",
                "paint it: train, validation, test_1k, test_5k or distractors; repeatable, or with "
                "commas between; needs the packages of drawings",
                &values->painted);
  flags.Strings(
      "features", "SPLIT",
      "write its pictures' regions as the net sees them; repeatable likewise, and with the "
      "same needs",
      &values->seen);
  flags.Switch("append-boxes",
               "with --features: six numbers of its box behind each region's 256, for a model that "
               "reads no boxes",
               &values->append_boxes);
  flags.Int("first", "with --features: see so many pictures of each split alone, the first ones", 1,
            kMost, &values->first);
  flags.Int("threads", "that paint and see; default: the cores there are", 1, limits::kMaxThreads,
            &values->threads);
  return flags;
}

// The controls of each pool that has pictures, against all distractors.
std::string ControlsOf(const SceneSet& set) {
  std::string text;
  for (const SceneSplit split : kPools) {
    const std::vector<ScenePicture>& pool = set[static_cast<int>(split)];
    if (pool.empty()) continue;
    const std::vector<ScenePicture>& distractors = set[static_cast<int>(SceneSplit::kDistractors)];
    absl::StrAppend(&text, Name(split), "\n", Report(MeasureControls(pool, {})), Name(split),
                    " among ", distractors.size(), " distractors\n",
                    Report(MeasureControls(pool, distractors)));
  }
  return text;
}

// Those that `lists`, of the flag of this name, name.
absl::StatusOr<std::vector<SceneSplit>> SplitsOf(absl::string_view flag,
                                                 const std::vector<std::string>& lists) {
  std::vector<SceneSplit> splits;
  for (const std::string& list : lists) {
    for (const absl::string_view name : absl::StrSplit(list, ',')) {
      int split = 0;
      while (split < kSceneSplits && Name(static_cast<SceneSplit>(split)) != name) ++split;
      if (split == kSceneSplits) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", flag, ": there is no split '", name,
                         "'; there are train, validation, test_1k, test_5k, distractors"));
      }
      splits.push_back(static_cast<SceneSplit>(split));
    }
  }
  return splits;
}

// What is made of which split.
struct WantedSplits {
  std::vector<SceneSplit> painted, seen;
};

absl::StatusOr<WantedSplits> WantedSplitsOf(const ScenesFlags& flags) {
  WantedSplits wanted;
  ASSIGN_OR_RETURN(wanted.painted, SplitsOf("paint", flags.painted));
  ASSIGN_OR_RETURN(wanted.seen, SplitsOf("features", flags.seen));
  if ((flags.append_boxes || flags.first.has_value()) && wanted.seen.empty()) {
    return absl::InvalidArgumentError(
        "--append-boxes and --first say how --features are written; give that");
  }
  return wanted;
}

absl::Status See(const ScenesFlags& flags, const WantedSplits& wanted, const SceneSet& set,
                 const DrawingSet& drawings, const CallContext& call) {
  if (wanted.seen.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::string_view weights, RegionNetWeights());
  ASSIGN_OR_RETURN(const auto detector, SceneDetector::FromBytes(weights));
  SceneFeaturesJob job;
  job.drawings = &drawings;
  job.detector = detector.get();
  job.directory = flags.out;
  job.seed = flags.options.seed;
  job.append_boxes = flags.append_boxes;
  job.threads = static_cast<int>(flags.threads.value_or(UsableCores()));
  Progress progress(Progress::OnStandardError(), Clock::Real());
  for (const SceneSplit split : wanted.seen) {
    auto pictures = absl::MakeConstSpan(set[static_cast<int>(split)]);
    if (flags.first.has_value()) pictures = pictures.subspan(0, *flags.first);
    RETURN_IF_ERROR(WriteSceneFeatures(pictures, split, job, &progress, call));
  }
  return absl::OkStatus();
}

// What pictures are painted of, held to its lock; nothing where none are.
absl::StatusOr<DrawingSet> DrawingsFor(const WantedSplits& wanted) {
  if (wanted.painted.empty() && wanted.seen.empty()) return DrawingSet({});
  return ReadSceneDrawings();
}

absl::Status PaintAndSee(const ScenesFlags& flags, const WantedSplits& wanted, const SceneSet& set,
                         const DrawingSet& drawings, const CallContext& call) {
  const int threads = static_cast<int>(flags.threads.value_or(UsableCores()));
  for (const SceneSplit split : wanted.painted) {
    RETURN_IF_ERROR(WriteScenePictures(set[static_cast<int>(split)], split, drawings, flags.out,
                                       threads, call));
  }
  return See(flags, wanted, set, drawings, call);
}

// Before anything is written.
absl::Status CheckWanted(const WantedSplits& wanted, const SceneSet& set) {
  for (const auto& splits : {wanted.painted, wanted.seen}) {
    for (const SceneSplit split : splits) {
      if (!set[static_cast<int>(split)].empty()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "the split ", Name(split), " is to have no pictures, so none can be painted or seen"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> WriteAndMeasure(const ScenesFlags& flags, const WantedSplits& wanted) {
  ShutdownSignals signals;
  const CallContext call(Clock::Real(), absl::InfiniteFuture(), signals.cancellation());
  ASSIGN_OR_RETURN(const SceneSet set, MakeScenes(flags.options, call));
  RETURN_IF_ERROR(CheckWanted(wanted, set));
  ASSIGN_OR_RETURN(const DrawingSet drawings, DrawingsFor(wanted));
  ASSIGN_OR_RETURN(const std::string sums, WriteScenes(set, flags.out));
  RETURN_IF_ERROR(PaintAndSee(flags, wanted, set, drawings, call));
  return absl::StrCat(sums, ControlsOf(set));
}

}  // namespace

int RunScenes(const std::vector<std::string>& args, const Console& console) {
  ScenesFlags values;
  Flags flags = DefineFlags(&values);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kScenesCommand, &flags, args, console, &words, &status)) return status;
  if (values.out.empty() || !words.empty()) {
    return UsageError(kScenesCommand, "give --out DIR", console);
  }
  const absl::StatusOr<WantedSplits> wanted = WantedSplitsOf(values);
  if (!wanted.ok()) {
    return UsageError(kScenesCommand, std::string(wanted.status().message()), console);
  }
  const absl::StatusOr<std::string> report = WriteAndMeasure(values, *wanted);
  if (absl::IsCancelled(report.status())) {
    console.err << "interrupted; run the same command again\n";
    return kRunAgain;
  }
  if (!report.ok()) return Fail(report.status(), console);
  console.out << *report;
  return kSuccess;
}

}  // namespace sightline
