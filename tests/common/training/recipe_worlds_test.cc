// Runs by recipes of several processes, held to those of one.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/training/recipe_trainer.h"
#include "tests/common/training/in_worlds.h"
#include "tests/common/training/recipe_fixture.h"
#include "tests/common/training/same_run.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr char kSceneText[] = "lightningdot with scene text";
constexpr int64_t kSteps = 12;

struct LearntWay {
  std::string what, family;
  std::vector<TaskRecipe> tasks;
  std::string other;  // family of the teacher or the retriever, if there is one
};

TaskRecipe MaskedTaskOf(const std::string& objective, GlobalVector other = GlobalVector::kNone) {
  TaskRecipe task = TaskOf(objective, 7);
  task.other_tower = other;
  return task;
}

std::vector<LearntWay> LearntWays() {
  std::vector<LearntWay> ways = {
      {"towers, with nearest ones of their own", "lightningdot", {TaskOf("cmr", 7)}, ""},
      {"towers and a head, in turn", "oscar", {TaskOf("hinge", 7), TaskOf("pairwise", 3)}, ""},
      {"a learned scale", "oscar", {TaskOf("contrastive", 7)}, ""},
      {"a matrix, and norms", "sgraf", {TaskOf("matrix_hinge", 5)}, ""},
      {"hardest of many", "uniter", {TaskOf("sigmoid_hinge", 3)}, ""},
      {"a teacher of pairs", "uniter", {TaskOf("distillation", 3)}, "oscar"},
      {"a teacher of towers", "lightningdot", {TaskOf("distillation", 3)}, "uniter"},
      {"what another retrieves", "uniter", {TaskOf("sigmoid_hinge", 3)}, "lightningdot"},
      {"hidden words and regions, and matching",
       "uniter",
       {MaskedTaskOf("mlm"), MaskedTaskOf("mrfr"), TaskOf("matching", 7)},
       ""},
      {"scene text, with the other tower",
       kSceneText,
       {MaskedTaskOf("msm", GlobalVector::kAdd), MaskedTaskOf("mlm", GlobalVector::kMultiply)},
       ""}};
  ways[0].tasks[0].nearest = 2;
  ways[4].tasks[0].mined_from = 8;
  ways[4].tasks[0].candidates = 3;
  ways[4].tasks[0].sides = WrongSides::kByProblem;
  for (const size_t i : {5, 6}) {
    ways[i].tasks[0].candidates = 3;
    ways[i].tasks[0].teacher = "other";
  }
  ways[6].tasks[0].student = Student::kTowers;
  ways[7].tasks[0].nearest = 1;
  return ways;
}

// A process's job.
struct ProcessFixture : RecipeFixture {
  explicit ProcessFixture(const LearntWay& way) : RecipeFixture(way.family, way.tasks) {
    job.recipe.steps = kSteps;
    job.recipe.dropout = 0.1;
    job.recipe.develop_every = 6;
    job.recipe.order = TaskOrder::kInTurn;
    job.recipe.accumulation = 2;
    // What is nearest is mined once: later on, who of two is nearer may be rounding's choice.
    job.recipe.mining.every = 0;
    KeepRoundingSmall(&job.recipe);
    job.recipe.adamw.weight_decay = 0.1;
    job.checkpoint_directory = checkpoints.path();
    if (way.other.empty()) return;
    other = MakeTinyBundle(store.path(), FamilyNamed(way.other), /*seed=*/5);
    job.others["other"] = &other;
    if (way.tasks[0].teacher.empty()) job.recipe.retriever = "other";
  }

  ModelBundle other;
};

using Processes = std::vector<std::unique_ptr<ProcessFixture>>;

Processes ProcessesOf(const LearntWay& way, int size) {
  Processes processes;
  for (int rank = 0; rank < size; ++rank) {
    processes.push_back(std::make_unique<ProcessFixture>(way));
  }
  return processes;
}

TEST_CASE("two processes learn what one does, whatever they learn") {
  for (const LearntWay& way : LearntWays()) {
    INFO(way.what);
    ProcessFixture alone(way);
    const RecipeResult result = alone.MustRun();
    const Processes two = ProcessesOf(way, 2);
    REQUIRE(Failures(RunTogether(two)) == "");
    for (const auto& process : two) {
      RequireSameSteps(*process, alone);
      REQUIRE(process->notes.looks.size() == alone.notes.looks.size());
      REQUIRE(process->notes.best_step == alone.notes.best_step);
    }
    RequireSameEnd(*two[0], alone);
    // One writes for both.
    REQUIRE_FALSE(two[0]->notes.checkpoints.empty());
    REQUIRE(two[1]->notes.checkpoints.empty());
  }
}

TEST_CASE("when one process is stopped all stop at its step, and others may go on") {
  const LearntWay way = LearntWays()[0];
  ProcessFixture whole(way);
  whole.MustRun();
  Processes two = ProcessesOf(way, 2);
  const std::vector<TrainingWorldOptions> options = OptionsOfWorld(2);
  const auto ends = InThreads(2, [&](int rank) {
    ProcessFixture& process = *two[rank];
    process.job.world = options[rank];
    process.job.report_every = 1;
    const CallContext call = CallContext::Unbounded();
    process.notes.on_step = [&](const RecipeStepReport& report) {
      if (rank == 1 && report.step == 7) call.cancellation()->Cancel();
    };
    return TrainByRecipe(process.job, &process.notes, call).status();
  });
  for (const auto& end : ends) REQUIRE(end.code() == absl::StatusCode::kCancelled);
  REQUIRE(absl::StrContains(ends[0].message(), "process 1 of 2"));
  REQUIRE(two[0]->notes.checkpoints == std::vector<int64_t>{7});
  REQUIRE(two[1]->notes.steps.size() == 7);

  // Three go on, of which only the first can see the checkpoint.
  Processes three = ProcessesOf(way, 3);
  three[0]->job.checkpoint_directory = two[0]->checkpoints.path();
  REQUIRE(Failures(RunTogether(three)) == "");
  REQUIRE(three[0]->notes.notes.size() == 3);
  REQUIRE(absl::StartsWith(three[0]->notes.notes[0], "process 0 of 3 meets the others at "));
  REQUIRE(three[0]->notes.notes[1] == "process 0 of 3 exchanges what lies on cpu by gloo");
  REQUIRE(three[0]->notes.notes[2] == "continues behind step 7 of 12");
  RequireSameEnd(*two[0], whole);
}

TEST_CASE("processes with different jobs learn nothing, and are told what differs") {
  const Processes two = ProcessesOf(LearntWays()[2], 2);
  two[1]->job.recipe.tasks[0].batch = 4;
  for (const absl::Status& end : RunTogether(two)) {
    REQUIRE(end.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(absl::StrContains(end.message(), "tasks.0.batch: 7 then, 4 now"));
  }
  REQUIRE(two[0]->notes.steps.empty());
}

}  // namespace
}  // namespace sightline
