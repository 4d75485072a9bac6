// Runs by recipes of masked words, regions and scene text, and of matching.
#include <algorithm>
#include <climits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/model.h"
#include "common/training/recipe_trainer.h"
#include "tests/common/training/recipe_fixture.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr char kSceneText[] = "lightningdot with scene text";

TaskRecipe Masked(const std::string& objective, GlobalVector other_tower = GlobalVector::kNone) {
  TaskRecipe task = TaskOf(objective);
  task.other_tower = other_tower;
  return task;
}

TaskRecipe WithTags() {
  TaskRecipe task = Masked("mlm");
  task.masks_tags = true;
  return task;
}

TaskRecipe WrongByTags() {
  TaskRecipe task = TaskOf("matching", 16);
  task.wrong_tags = 1;
  return task;
}

TaskRecipe Aligned() {
  TaskRecipe task = TaskOf("matching", 16);
  task.alignment = 0.1;
  return task;
}

TaskRecipe CoMasked() {
  TaskRecipe task = Masked("mlm", GlobalVector::kAdd);
  task.co_mask = true;
  return task;
}

double FirstLoss(const RecipeFixture& of) {
  return of.notes.steps.front().tasks[0].loss;
}
double LastLoss(const RecipeFixture& of) {
  return of.notes.steps.back().tasks[0].loss;
}

std::vector<std::string> TensorsOf(const std::string& path) {
  const auto file = *Safetensors::Open(path);
  std::vector<std::string> names;
  for (const auto& item : file->tensors()) names.push_back(item.first);
  return names;
}

// Of heads by which a task predicts.
std::vector<std::string> HeadsOf(const std::string& objective) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& head, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) names.push_back(head + part);
  };
  const std::vector<std::string> layers = {"net.0.bias", "net.0.weight", "net.2.bias",
                                           "net.2.weight"};
  if (objective == "mlm" || objective == "msm") {
    add("cls.predictions.", {"bias", "transform.LayerNorm.bias", "transform.LayerNorm.weight",
                             "transform.dense.bias", "transform.dense.weight"});
  } else if (objective == "mrfr") {
    add("feat_regress.", {"bias"});
    add("feat_regress.", layers);
  } else if (objective == "mrc_kl") {
    add("region_classifier.", layers);
    add("region_classifier.", {"net.3.bias", "net.3.weight"});
  }
  if (objective == "mrfr" || objective == "mrc_kl") add("mask_embedding.", {"weight"});
  return names;
}

// A run from what another has made learns nothing: what it is told is what that one knew.
double LossGoingOn(RecipeFixture* of, const ModelBundle& learnt) {
  of->job.start = &learnt;
  of->job.recipe.steps = of->job.report_every;
  of->job.recipe.rate.peak = 1e-9;
  of->MustRun();
  return FirstLoss(*of);
}

TEST_CASE("what is hidden is learnt, and the bundle is served and gone on from, with heads") {
  const std::vector<std::pair<std::string, TaskRecipe>> ways = {
      {"lightningdot", Masked("mlm")},
      {"lightningdot", Masked("mlm", GlobalVector::kAdd)},
      {"lightningdot", Masked("mrfr", GlobalVector::kAdd)},
      {"lightningdot", Masked("mrc_kl", GlobalVector::kAdd)},
      {kSceneText, CoMasked()},
      {kSceneText, Masked("msm", GlobalVector::kAdd)},
      {"uniter", Masked("mlm")},
      {"uniter", Masked("mrfr")},
      {"uniter", Masked("mrc_kl")},
      {"uniter", TaskOf("matching", 16)},
      {"uniter", Aligned()},
      {"oscar", Masked("mlm")},
      {"oscar", WithTags()},
      {"oscar", Masked("mrc_kl")},
      {"oscar", WrongByTags()},
  };
  // Few enough for a cross-encoder to know them by heart.
  constexpr int kPictures = 6;
  for (const auto& [family, task] : ways) {
    INFO(family << " by " << task.objective);
    RecipeFixture of(family, {task});
    const auto few = MadeUpPairs(of.family, kPictures);
    of.job.learnt = few.get();
    of.job.recipe.steps = 180;
    of.job.report_every = 30;
    const RecipeResult result = of.MustRun();
    REQUIRE(of.notes.steps.size() == 6);
    INFO(FirstLoss(of) << " -> " << LastLoss(of));
    const double first = FirstLoss(of), last = LastLoss(of);
    REQUIRE(last < 0.9 * first);
    REQUIRE(LoadModel(result.bundle, {}).ok());
    std::vector<std::string> names = TensorsOf(of.start.FilePath(kWeightsFile));
    for (const std::string& name : HeadsOf(task.objective)) names.push_back(name);
    std::sort(names.begin(), names.end());
    REQUIRE(TensorsOf(result.bundle.FilePath(kWeightsFile)) == names);
    const double going_on = LossGoingOn(&of, result.bundle);
    INFO("goes on at " << going_on);
    REQUIRE(going_on < (first + last) / 2);
  }
}

TEST_CASE("a run of many tasks that was stopped ends in the bits of one that was not") {
  struct Run {
    std::string family;
    std::vector<TaskRecipe> tasks;
  };
  std::vector<Run> runs = {{kSceneText,
                            {TaskOf("cmr"), CoMasked(), Masked("msm", GlobalVector::kAdd),
                             Masked("mrfr", GlobalVector::kMultiply)}},
                           {"uniter", {TaskOf("matching"), Masked("mlm"), Masked("mrfr")}},
                           {"oscar", {WrongByTags(), WithTags(), Masked("mrfr")}}};
  for (Run& run : runs) {
    INFO(run.family);
    for (TaskRecipe& task : run.tasks) {
      task.batch = TaskRecipe().batch;
      task.batch_rows = 96;
    }
    const auto job_of = [&](RecipeFixture* of) {
      of->job.recipe.dropout = 0.1;
      of->job.recipe.accumulation = 2;
      of->job.recipe.pass_rows = 48;
      of->job.recipe.adamw.decays = DecayRule::kByName;
      of->job.checkpoint_directory = of->checkpoints.path();
    };
    RecipeFixture whole(run.family, run.tasks);
    job_of(&whole);
    const std::string expected = whole.WeightsOf(whole.MustRun());

    RecipeFixture stopped(run.family, run.tasks);
    job_of(&stopped);
    stopped.job.report_every = 1;
    for (const int64_t stop : {3, 14}) {
      const CallContext call = CallContext::Unbounded();
      RecipeNotes notes;
      notes.on_step = [&](const RecipeStepReport& report) {
        if (report.step == stop) call.cancellation()->Cancel();
      };
      REQUIRE(TrainByRecipe(stopped.job, &notes, call).status().code() ==
              absl::StatusCode::kCancelled);
    }
    REQUIRE(stopped.WeightsOf(stopped.MustRun()) == expected);
    // To the bit: weights and moments, of heads too.
    constexpr char kLast[] = "checkpoint-000000024.safetensors";
    REQUIRE(*ReadFile(stopped.checkpoints.File(kLast)) == *ReadFile(whole.checkpoints.File(kLast)));
    const std::vector<std::string> names = TensorsOf(whole.checkpoints.File(kLast));
    for (const char* name :
         {"weights/heads.cls.predictions.bias", "second/heads.feat_regress.net.0.weight",
          "first/heads.mask_embedding.weight"}) {
      INFO(name);
      REQUIRE(std::count(names.begin(), names.end(), name) == 1);
    }
    REQUIRE(std::none_of(names.begin(), names.end(), [](const std::string& name) {
      return absl::StrContains(name, "region_classifier");
    }));
  }
}

TEST_CASE("several batches of a step are one that is as large") {
  const auto first_step = [](int64_t batch, int64_t accumulation) {
    // Its loss is a mean over pairs, and with no wrong ones none is drawn.
    RecipeFixture of("uniter", {TaskOf("matching", batch)});
    of.job.recipe.tasks[0].wrong_share = 0;
    of.job.recipe.accumulation = accumulation;
    of.job.recipe.steps = of.job.report_every = 1;
    of.MustRun();
    return of.notes.steps[0];
  };
  const RecipeStepReport whole = first_step(12, 1), parts = first_step(4, 3);
  REQUIRE(parts.tasks[0].loss == Approx(whole.tasks[0].loss).epsilon(1e-5));
  REQUIRE(*parts.tasks[0].first == Approx(*whole.tasks[0].first).epsilon(1e-5));
  REQUIRE(parts.gradient_norm == Approx(whole.gradient_norm).epsilon(1e-4));
  REQUIRE(first_step(4, 1).gradient_norm != Approx(whole.gradient_norm).epsilon(1e-3));
}

TEST_CASE("a recipe that only predicts what is hidden has nothing to choose by") {
  RecipeFixture of("lightningdot", {Masked("mlm", GlobalVector::kAdd)});
  const RecipeResult result = of.MustRun();
  REQUIRE(of.notes.looks.empty());
  REQUIRE(result.development.pictures == 0);
  // With retrieval beside it there is.
  of.job.recipe.tasks.push_back(TaskOf("cmr"));
  of.MustRun();
  REQUIRE(of.notes.looks.size() == 3);
  RecipeFixture matching("uniter", {TaskOf("matching")});
  REQUIRE(matching.MustRun().development.findings[0].way == DevelopmentWay::kPairs);
}

TEST_CASE("scene text is learnt from pictures that have some, and from no others") {
  RecipeFixture of(kSceneText, {Masked("msm")});
  // Only picture 1 has any; a batch without it would cost nothing.
  const auto bare = MadeUpPairs(of.family, 40, {/*with_words=*/2});
  of.job.learnt = bare.get();
  of.job.recipe.steps = 5;
  of.job.report_every = 1;
  of.MustRun();
  for (const RecipeStepReport& report : of.notes.steps) REQUIRE(report.tasks[0].loss > 0.1);
}

TEST_CASE("what a network or a corpus lacks is refused before the first step, and said") {
  const auto message = [](const std::string& family, const TaskRecipe& task) {
    RecipeFixture of(family, {task});
    const absl::Status status = of.Run().status();
    INFO(status.ToString());
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(of.notes.steps.empty());
    return std::string(status.message());
  };
  REQUIRE(absl::StrContains(message("sgraf", Masked("mlm")), "words or regions hidden"));
  REQUIRE(absl::StartsWith(message("sgraf", Masked("mlm")), "tasks.0: the objective mlm needs"));
  REQUIRE(absl::StrContains(message("uniter", Masked("mlm", GlobalVector::kAdd)), "two towers"));
  TaskRecipe other_table = Masked("mlm");
  other_table.word_table = WordTable::kText;
  REQUIRE(absl::StrContains(message("uniter", other_table), "leave word_table out"));
  REQUIRE(absl::StrContains(message("lightningdot", Masked("msm")), "--scene-text"));
  REQUIRE(absl::StrContains(message("lightningdot", CoMasked()), "leave co_mask out"));
  REQUIRE(absl::StrContains(message("lightningdot", TaskOf("matching")), "scores pairs"));
  REQUIRE(absl::StrContains(message("uniter", WithTags()), "masks_tags of mlm needs a network"));
  REQUIRE(absl::StrContains(message("uniter", WrongByTags()), "leave wrong_tags out"));
  REQUIRE(absl::StrContains(message("m3p", Aligned()), "leave alignment out"));

  for (const TaskRecipe& task : {WithTags(), WrongByTags()}) {
    RecipeFixture of("oscar", {task});
    const auto bare = MadeUpPairs(of.family, 40, {INT_MAX, INT_MAX, true, /*with_tags=*/false});
    of.job.learnt = bare.get();
    const absl::Status status = of.Run().status();
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(absl::StrContains(status.message(), "of 40 none has any; take a corpus with tags"));
  }

  for (const TaskRecipe& task : {Masked("msm"), CoMasked()}) {
    RecipeFixture of(kSceneText, {task});
    const auto bare = MadeUpPairs(of.family, 40, {/*with_words=*/0});
    of.job.learnt = bare.get();
    const absl::Status status = of.Run().status();
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(absl::StrContains(status.message(), "of 40 pictures none has any"));
  }
}

TEST_CASE("a corpus that lacks what an objective needs is no matter to tasks of another one") {
  // Words and labels are the first's.
  const MadeUpOptions of_first = {/*with_words=*/20, /*in_first=*/20, /*second_has_labels=*/false};
  const auto run = [&](const std::string& objective, int64_t corpus) {
    TaskRecipe task = Masked(objective);
    task.corpus = corpus;
    RecipeFixture of(kSceneText, {task});
    const auto pairs = MadeUpPairs(of.family, 40, of_first);
    of.job.learnt = pairs.get();
    of.job.recipe.steps = 4;
    return of.Run().status();
  };
  for (const std::string objective : {"msm", "mrc_kl"}) {
    INFO(objective);
    REQUIRE(run(objective, 1).ok());
    REQUIRE(run(objective, 2).code() == absl::StatusCode::kInvalidArgument);
  }
  REQUIRE(run("msm", 0).ok());
  REQUIRE(absl::StrContains(run("msm", 2).message(), "of 20 pictures none has any"));
  for (const int64_t corpus : {0, 2}) {
    REQUIRE(absl::StrContains(run("mrc_kl", corpus).message(), "the corpus of made/1020 has none"));
  }
}

}  // namespace
}  // namespace sightline
