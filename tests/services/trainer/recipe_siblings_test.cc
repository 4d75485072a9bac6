// Each recipe's sibling: its tasks, order and optimiser with small numbers, for seconds.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/files.h"
#include "services/trainer/learn_config.h"
#include "tests/common/models/tiny_family.h"
#include "tests/common/training/killed_run.h"
#include "tests/common/training/made_up_wordnet.h"
#include "tests/common/training/recipe_fixture.h"
#include "tests/common/training/same_run.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// What is left of a recipe when a run takes seconds, of one corpus.  A step is several passes and
// two batches.
Recipe SiblingOf(const std::string& name) {
  auto file = ConfigFile::Load("services/trainer/recipes/" + name);
  REQUIRE(file.ok());
  LearnOverrides overrides;
  overrides.start = overrides.out = overrides.store = "x";
  overrides.corpora = {"regions:a", "regions:b", "regions:c", "regions:d"};
  const auto config = ReadLearnConfig(&*file, overrides);
  INFO(config.status().ToString());
  REQUIRE(config.ok());
  Recipe recipe = config->recipe;
  const auto of_another = [](const TaskRecipe& task) { return task.corpus > 1; };
  recipe.tasks.erase(std::remove_if(recipe.tasks.begin(), recipe.tasks.end(), of_another),
                     recipe.tasks.end());
  for (TaskRecipe& task : recipe.tasks) {
    if (task.batch_rows > 0) {
      task.batch_rows = 160;
    } else {
      task.batch = 8;
    }
    task.candidates = std::min<int64_t>(task.candidates, 4);
    if (task.mined_from > 0) task.mined_from = 8;
  }
  recipe.accumulation = 2;
  recipe.pass_rows = 48;
  recipe.rate.peak = 3e-3;
  recipe.rate.warmup_steps = std::min<int64_t>(recipe.rate.warmup_steps, 4);
  recipe.dropout = 0;
  recipe.develop_every = 0;
  recipe.develop_pictures = 8;
  return recipe;
}

void SetSteps(int64_t steps, Recipe* recipe) {
  recipe->steps = steps;
  if (recipe->rate.decay == DecayShape::kStep) recipe->rate.drop_every = steps * 3 / 4;
}

struct Sibling {
  std::string recipe, family;
};

std::vector<Sibling> Siblings() {
  return {{"lightningdot_pretrain.yaml", "lightningdot"},
          {"scene_text_pretrain.yaml", "lightningdot with scene text"},
          {"uniter_pretrain.yaml", "uniter"},
          {"oscar_pretrain.yaml", "oscar"},
          {"lightningdot.yaml", "lightningdot"},
          {"uniter.yaml", "uniter"},
          {"uniter_hard.yaml", "uniter"},
          {"oscar.yaml", "oscar"},
          {"retrieve_fast_bi.yaml", "oscar"},
          {"retrieve_fast_cross.yaml", "oscar"},
          {"retrieve_fast_joint.yaml", "oscar"},
          {"retrieve_fast_joint.yaml", "m3p"},
          {"m3p.yaml", "m3p"},
          {"sgraf.yaml", "saf"},
          {"sgraf.yaml", "sgr"},
          {"sgraf.yaml", "saf with T-EMDE"},
          {"sgraf.yaml", "sgr without a global node"},
          {"vldeformer.yaml", "vldeformer"}};
}

// A run of a sibling.
struct SiblingRun : RecipeFixture {
  SiblingRun(const Sibling& sibling, const Recipe& recipe)
      : RecipeFixture(sibling.family, recipe.tasks),
        wordnet(MadeUpWordNet(store.File("wordnet"), TinyWords())) {
    job.recipe = recipe;
    job.wordnet = &wordnet;
    job.checkpoint_directory = checkpoints.path();
  }

  const WordNet wordnet;
};

std::map<std::string, double> Losses(const RecipeStepReport& report) {
  std::map<std::string, double> losses;
  for (const RecipeStepReport::Task& task : report.tasks) losses[task.objective] = task.loss;
  return losses;
}

TEST_CASE("every recipe has a sibling") {
  std::vector<std::string> recipes, siblings;
  const auto files = ListDirectory("services/trainer/recipes");
  REQUIRE(files.ok());
  for (const std::string& name : *files) {
    if (name.size() > 5 && name.substr(name.size() - 5) == ".yaml") recipes.push_back(name);
  }
  for (const Sibling& sibling : Siblings()) siblings.push_back(sibling.recipe);
  std::sort(recipes.begin(), recipes.end());
  std::sort(siblings.begin(), siblings.end());
  siblings.erase(std::unique(siblings.begin(), siblings.end()), siblings.end());
  REQUIRE(recipes == siblings);
}

TEST_CASE("each recipe's losses all fall, of the family that it is for") {
  for (const Sibling& sibling : Siblings()) {
    Recipe recipe = SiblingOf(sibling.recipe);
    SetSteps(200, &recipe);
    recipe.accumulation = 1;
    recipe.develop_every = 100;
    SiblingRun run(sibling, recipe);
    run.job.report_every = 50;
    run.MustRun();
    const auto first = Losses(run.notes.steps.front()), last = Losses(run.notes.steps.back());
    REQUIRE(first.size() == recipe.tasks.size());
    for (const auto& [objective, loss] : first) {
      INFO(sibling.recipe << ", " << sibling.family << ", " << objective << ": " << loss << " -> "
                          << last.at(objective));
      REQUIRE(last.at(objective) < loss);
    }
  }
}

TEST_CASE("each recipe's run that was killed ends in the weights of one that was not") {
  for (const Sibling& sibling : Siblings()) {
    INFO(sibling.recipe << ", " << sibling.family);
    Recipe recipe = SiblingOf(sibling.recipe);
    SetSteps(12, &recipe);
    recipe.dropout = 0.1;
    recipe.develop_every = 4;
    SiblingRun whole(sibling, recipe), killed(sibling, recipe);
    REQUIRE_FALSE(RunUntil(9, {6}, &killed).ok());
    REQUIRE(killed.notes.checkpoints == std::vector<int64_t>{6});
    REQUIRE(killed.notes.looks.size() == 2);
    const auto ended = RunUntil(0, {}, &killed);
    INFO(ended.status());
    REQUIRE(ended.ok());
    REQUIRE(killed.notes.steps.front().step == 7);
    REQUIRE(killed.notes.looks.size() == 2);
    REQUIRE(killed.WeightsOf(*ended) == whole.WeightsOf(whole.MustRun()));
    REQUIRE(whole.notes.looks.size() == 3);
  }
}

TEST_CASE("each recipe's run of two processes is that of one") {
  for (const Sibling& sibling : Siblings()) {
    INFO(sibling.recipe << ", " << sibling.family);
    Recipe recipe = SiblingOf(sibling.recipe);
    SetSteps(8, &recipe);
    recipe.dropout = 0.1;
    KeepRoundingSmall(&recipe);
    SiblingRun alone(sibling, recipe);
    alone.MustRun();
    std::vector<std::unique_ptr<SiblingRun>> two;
    for (int i = 0; i < 2; ++i) two.push_back(std::make_unique<SiblingRun>(sibling, recipe));
    REQUIRE(Failures(RunTogether(two)) == "");
    for (const auto& process : two) RequireSameSteps(*process, alone);
    RequireSameEnd(*two[0], alone);
  }
}

}  // namespace
}  // namespace sightline
