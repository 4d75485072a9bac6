// Short runs by a recipe, of tiny families from random weights.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_RECIPE_FIXTURE_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_RECIPE_FIXTURE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/files.h"
#include "common/training/recipe_trainer.h"
#include "tests/common/models/tiny_families.h"
#include "tests/common/training/made_up_pairs.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {

// By what it is called, or the first of a family.
inline TinyFamily FamilyNamed(const std::string& name) {
  for (const TinyFamily& family : TinyFamilies()) {
    if (family.name == name || family.manifest.family() == name) return family;
  }
  FAIL("no family " << name);
  return {};
}

// Keeps what it is told, and may do something then.
class RecipeNotes : public RecipeObserver {
 public:
  void OnStep(const RecipeStepReport& report) override {
    steps.push_back(report);
    if (on_step) on_step(report);
  }
  void OnDevelopment(const DevelopmentReport& report, bool best) override {
    looks.push_back(report);
    if (best) best_step = report.step;
  }
  void OnCheckpoint(int64_t step, const std::string&, int64_t) override {
    checkpoints.push_back(step);
  }
  void OnNote(absl::string_view message) override { notes.emplace_back(message); }
  void OnWarning(absl::string_view message) override { warnings.emplace_back(message); }

  std::vector<RecipeStepReport> steps;
  std::vector<DevelopmentReport> looks;
  int64_t best_step = 0;
  std::vector<int64_t> checkpoints;
  std::vector<std::string> notes, warnings;
  std::function<void(const RecipeStepReport&)> on_step;
};

inline TaskRecipe TaskOf(const std::string& objective, int64_t batch = 8) {
  TaskRecipe task;
  task.objective = objective;
  task.batch = batch;
  return task;
}

// A short job of a family, from random weights.
struct RecipeFixture {
  RecipeFixture(const std::string& family_name, const std::vector<TaskRecipe>& tasks)
      : family(FamilyNamed(family_name)),
        start(MakeTinyBundle(store.path(), family)),
        pairs(MadeUpPairs(family, 40)),
        development(MadeUpPairs(family, 20)) {
    job.recipe.tasks = tasks;
    job.recipe.steps = 24;
    job.recipe.rate.peak = 3e-3;
    job.recipe.dropout = 0;
    job.recipe.develop_every = 8;
    job.start = &start;
    job.learnt = pairs.get();
    job.development = development.get();
    job.store = store.path();
    job.device = "cpu";
    job.threads = 1;
    job.report_every = 4;
  }

  absl::StatusOr<RecipeResult> Run(const CallContext& call = CallContext::Unbounded()) {
    notes = RecipeNotes();
    return TrainByRecipe(job, &notes, call);
  }
  RecipeResult MustRun() {
    auto result = Run();
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    return *std::move(result);
  }
  std::string WeightsOf(const RecipeResult& result) {
    return *ReadFile(result.bundle.FilePath(kWeightsFile));
  }

  const TempDir store, checkpoints;
  const TinyFamily family;
  const ModelBundle start;
  const std::unique_ptr<PairCorpus> pairs, development;
  RecipeJob job;
  RecipeNotes notes;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_RECIPE_FIXTURE_H_
