// Runs by recipes that are stopped within a step, which is then given up.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "common/base/files.h"
#include "common/training/recipe_trainer.h"
#include "tests/common/training/in_worlds.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/common/training/recipe_fixture.h"
#include "tests/common/training/same_run.h"
#include "tests/common/training/stopping_clock.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int64_t kSteps = 4, kBefore = 2, kBatches = 2;

struct StoppedWay {
  std::string what, family, other;
  TaskRecipe task;
  // How often a batch looks whether the call has ended, at least.
  int64_t looks = 0;
};

std::vector<StoppedWay> StoppedWays() {
  // Each item or problem is a pass of its own.
  std::vector<StoppedWay> ways = {
      {"towers, there and back", "lightningdot", "", TaskOf("cmr", 4), 4 * 4},
      {"hardest of many, and problems", "uniter", "", TaskOf("sigmoid_hinge", 4), 1 + 4},
      {"a teacher of pairs", "uniter", "oscar", TaskOf("distillation", 4), 1 + 4},
      {"a teacher of towers", "lightningdot", "uniter", TaskOf("distillation", 4), 1 + 2 * 4},
      {"a matrix, and norms", "sgraf", "", TaskOf("matrix_hinge", 5), 5},
      {"hidden words", "uniter", "", TaskOf("mlm", 6), 6},
      {"matching", "uniter", "", TaskOf("matching", 6), 6}};
  ways[1].task.mined_from = 8;
  ways[1].task.candidates = 3;
  for (const size_t i : {2, 3}) {
    ways[i].task.candidates = 3;
    ways[i].task.teacher = "other";
  }
  ways[3].task.student = Student::kTowers;
  return ways;
}

struct StoppedFixture : RecipeFixture {
  explicit StoppedFixture(const StoppedWay& way) : RecipeFixture(way.family, {way.task}) {
    job.recipe.steps = kSteps;
    job.recipe.accumulation = kBatches;
    job.recipe.pass_rows = 1;
    job.recipe.develop_every = 0;
    job.development = nullptr;
    job.report_every = 1;
    KeepRoundingSmall(&job.recipe);
    job.checkpoint_directory = checkpoints.path();
    if (way.other.empty()) return;
    other = MakeTinyBundle(store.path(), FamilyNamed(way.other), /*seed=*/5);
    job.others["other"] = &other;
  }

  // One that is stopped after so many looks behind step kBefore.
  absl::Status RunUntil(int64_t looks) {
    StoppingClock clock;
    notes = RecipeNotes();
    notes.on_step = [&](const RecipeStepReport& report) {
      if (report.step == kBefore) clock.StopIn(looks);
    };
    return TrainByRecipe(job, &notes, clock.call()).status();
  }

  // How often a step asks the clock.
  int64_t LooksOfStep() {
    StoppingClock clock;
    notes = RecipeNotes();
    int64_t before = 0, looks = 0;
    notes.on_step = [&](const RecipeStepReport& report) {
      if (report.step == kBefore) before = clock.asked();
      if (report.step == kBefore + 1) looks = clock.asked() - before;
    };
    const absl::Status status = TrainByRecipe(job, &notes, clock.call()).status();
    INFO(status.ToString());
    REQUIRE(status.ok());
    return looks;
  }

  std::string LastCheckpoint() const {
    return *ReadFile(
        JoinPath(job.checkpoint_directory, absl::StrFormat("checkpoint-%09d.safetensors", kSteps)));
  }

  ModelBundle other;
};

TEST_CASE("a run that is stopped within a step ends, and ends as one that was not") {
  for (const StoppedWay& way : StoppedWays()) {
    INFO(way.what);
    StoppedFixture run(way);
    run.job.recipe.dropout = 0.1;
    const int64_t looks = run.LooksOfStep();
    REQUIRE(looks > kBatches * way.looks);
    const std::string whole = run.LastCheckpoint();
    for (const int64_t stop : {int64_t{2}, looks / 4, looks / 2, looks - 2 - kBatches}) {
      INFO("at look " << stop << " of " << looks);
      const TempDir own;
      run.job.checkpoint_directory = own.path();
      const absl::Status stopped = run.RunUntil(stop);
      REQUIRE(stopped.code() == absl::StatusCode::kCancelled);
      REQUIRE(run.notes.checkpoints == std::vector<int64_t>{kBefore});
      REQUIRE(run.notes.steps.size() == kBefore);
      run.MustRun();
      REQUIRE(run.notes.notes == std::vector<std::string>{"continues behind step 2 of 4"});
      REQUIRE(run.LastCheckpoint() == whole);
    }
  }
}

using StoppedProcesses = std::vector<std::unique_ptr<StoppedFixture>>;

TEST_CASE("when processes are stopped within a step none waits for another, and they may go on") {
  const std::vector<StoppedWay> ways = StoppedWays();
  for (const size_t i : {0, 1, 3, 4, 5, 6}) {
    const StoppedWay& way = ways[i];
    INFO(way.what);
    StoppedFixture alone(way);
    const int64_t looks = alone.LooksOfStep();
    // The second one alone, and both at different places.
    const std::vector<std::vector<int64_t>> both = {{-1, looks / 4}, {looks / 4, 5}};
    for (const std::vector<int64_t>& stops : both) {
      StoppedProcesses two;
      for (int rank = 0; rank < 2; ++rank) two.push_back(std::make_unique<StoppedFixture>(way));
      const std::vector<TrainingWorldOptions> options = OptionsOfWorld(2);
      const auto ends = InThreads(2, [&](int rank) {
        two[rank]->job.world = options[rank];
        return two[rank]->RunUntil(stops[rank]);
      });
      for (const absl::Status& end : ends) {
        INFO(end.ToString());
        REQUIRE(end.code() == absl::StatusCode::kCancelled);
      }
      REQUIRE(two[0]->notes.checkpoints == std::vector<int64_t>{kBefore});
      REQUIRE(two[1]->notes.steps.size() == kBefore);
      REQUIRE(Failures(RunTogether(two)) == "");
      RequireSameEnd(*two[0], alone);
    }
  }
}

// Its pictures cannot be read any more once they are gone.
class GoneCorpus : public MadeUpCorpus {
 public:
  GoneCorpus(int region_feature_size, const bool* gone)
      : MadeUpCorpus(region_feature_size), gone_(*gone) {}
  absl::StatusOr<RegionSet> ReadRegions(const CorpusItem& item, int64_t most) const override {
    if (gone_) return absl::DataLossError("the disk is gone");
    return MadeUpCorpus::ReadRegions(item, most);
  }

 private:
  const bool& gone_;
};

std::unique_ptr<PairCorpus> GonePairs(const TinyFamily& family, const bool* gone) {
  auto corpus = std::make_unique<GoneCorpus>(TinyImage(family, 0).regions.feature_size, gone);
  const std::vector<std::string>& words = TinyWords();
  for (int i = 0; i < static_cast<int>(words.size()); ++i) {
    corpus->Add(MadeUpItem(words[i], {words[i]}), TinyImage(family, i).regions);
  }
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  corpora.push_back(std::move(corpus));
  return *PairCorpus::Open(std::move(corpora), {});
}

TEST_CASE("a process that fails within a step leaves none waiting, and its last step is kept") {
  const std::vector<StoppedWay> ways = StoppedWays();
  for (const size_t i : {0, 1, 5, 6}) {
    INFO(ways[i].what);
    StoppedProcesses two;
    bool gone[] = {false, false};
    std::vector<std::unique_ptr<PairCorpus>> corpora;
    for (int rank = 0; rank < 2; ++rank) {
      two.push_back(std::make_unique<StoppedFixture>(ways[i]));
      corpora.push_back(GonePairs(two[rank]->family, &gone[rank]));
      two[rank]->job.learnt = corpora[rank].get();
      two[rank]->notes.on_step = [&gone, rank](const RecipeStepReport& report) {
        gone[rank] = rank == 1 && report.step == kBefore;
      };
    }
    const std::vector<absl::Status> ends = RunTogether(two);
    for (const absl::Status& end : ends) {
      INFO(end.ToString());
      REQUIRE(end.code() == absl::StatusCode::kDataLoss);
    }
    REQUIRE(absl::StrContains(ends[0].message(), "process 1 of 2"));
    REQUIRE(two[0]->notes.checkpoints == std::vector<int64_t>{kBefore});
  }
}

TEST_CASE("a process that is lost behind a step costs no step") {
  StoppedProcesses two;
  for (int rank = 0; rank < 2; ++rank) {
    two.push_back(std::make_unique<StoppedFixture>(StoppedWays()[0]));
  }
  two[1]->notes.on_step = [](const RecipeStepReport& report) {
    if (report.step == kBefore) throw std::runtime_error("killed");
  };
  const std::vector<absl::Status> ends = RunTogether(two);
  INFO(ends[0]);
  REQUIRE(ends[0].code() == absl::StatusCode::kUnavailable);
  REQUIRE(two[0]->notes.checkpoints == std::vector<int64_t>{kBefore});
}

TEST_CASE("damage of what is learnt from is told as damage") {
  StoppedFixture of(StoppedWays()[0]);
  const bool gone = true;
  const auto corpus = GonePairs(of.family, &gone);
  of.job.learnt = corpus.get();
  const absl::Status end = of.Run().status();
  INFO(end);
  REQUIRE(end.code() == absl::StatusCode::kDataLoss);
  REQUIRE_FALSE(absl::StrContains(end.message(), "the network cannot read"));
}

}  // namespace
}  // namespace sightline
