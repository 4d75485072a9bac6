// The recipes of pre-training, and M3P's, each with its own tasks and small numbers.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/files.h"
#include "services/trainer/learn_config.h"
#include "tests/common/training/recipe_fixture.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// What is left of a recipe when a run takes seconds: tasks, shares, order, optimiser.
Recipe SiblingOf(const std::string& name) {
  auto file = ConfigFile::Load("services/trainer/recipes/" + name);
  REQUIRE(file.ok());
  LearnOverrides overrides;
  overrides.start = overrides.out = overrides.store = "x";
  overrides.corpora = {"regions:x"};
  const auto config = ReadLearnConfig(&*file, overrides);
  INFO(config.status().ToString());
  REQUIRE(config.ok());
  Recipe recipe = config->recipe;
  for (TaskRecipe& task : recipe.tasks) {
    if (task.batch_rows > 0) {
      task.batch_rows = 160;
    } else {
      task.batch = 8;
    }
  }
  recipe.accumulation = 1;
  recipe.steps = 200;
  recipe.rate.peak = 3e-3;
  recipe.rate.warmup_steps = 4;
  recipe.dropout = 0;
  recipe.develop_every = 0;
  return recipe;
}

struct Sibling {
  std::string recipe, family;
};

std::vector<Sibling> Siblings() {
  return {{"lightningdot_pretrain.yaml", "lightningdot"},
          {"scene_text_pretrain.yaml", "lightningdot with scene text"},
          {"uniter_pretrain.yaml", "uniter"},
          {"oscar_pretrain.yaml", "oscar"},
          {"m3p.yaml", "m3p"}};
}

TEST_CASE("each recipe's tasks are all learnt at once by the family that it is for") {
  for (const Sibling& sibling : Siblings()) {
    const Recipe recipe = SiblingOf(sibling.recipe);
    RecipeFixture of(sibling.family, recipe.tasks);
    of.job.recipe = recipe;
    of.job.report_every = 50;
    of.MustRun();
    std::map<std::string, double> first, last;
    for (const RecipeStepReport::Task& task : of.notes.steps.front().tasks) {
      first[task.objective] = task.loss;
    }
    for (const RecipeStepReport::Task& task : of.notes.steps.back().tasks) {
      last[task.objective] = task.loss;
    }
    REQUIRE(first.size() == recipe.tasks.size());
    for (const auto& [objective, loss] : first) {
      INFO(sibling.recipe << ", " << objective << ": " << loss << " -> " << last.at(objective));
      REQUIRE(last.at(objective) < loss);
    }
  }
}

TEST_CASE("each recipe's run that was stopped ends in the weights of one that was not") {
  for (const Sibling& sibling : Siblings()) {
    INFO(sibling.recipe);
    Recipe recipe = SiblingOf(sibling.recipe);
    recipe.steps = 12;
    recipe.accumulation = 2;
    recipe.dropout = 0.1;
    RecipeFixture whole(sibling.family, recipe.tasks), stopped(sibling.family, recipe.tasks);
    whole.job.recipe = stopped.job.recipe = recipe;
    stopped.job.checkpoint_directory = stopped.checkpoints.path();
    stopped.job.report_every = 1;
    const CallContext call = CallContext::Unbounded();
    RecipeNotes notes;
    notes.on_step = [&](const RecipeStepReport& report) {
      if (report.step == 7) call.cancellation()->Cancel();
    };
    REQUIRE(TrainByRecipe(stopped.job, &notes, call).status().code() ==
            absl::StatusCode::kCancelled);
    REQUIRE(stopped.WeightsOf(stopped.MustRun()) == whole.WeightsOf(whole.MustRun()));
    REQUIRE(stopped.notes.steps.front().step == 8);
  }
}

}  // namespace
}  // namespace sightline
