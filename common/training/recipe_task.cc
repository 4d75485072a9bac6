#include "common/training/recipe_task.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/training/masked_task.h"
#include "common/training/matching_task.h"
#include "common/training/pair_task.h"
#include "common/training/random.h"

namespace sightline {

uint64_t SeedOfTask(const TaskSetting& setting, size_t i) {
  return SeedOf(setting.recipe->seed, RandomStream::kTaskDraws, i);
}

PairSampler SamplerOf(const TaskSetting& setting, size_t i,
                      std::function<bool(int64_t picture)> wanted) {
  const TaskRecipe& recipe = setting.recipe->tasks[i];
  const LearntPairs& pairs = *setting.pairs;
  PairDraws draws;
  draws.unit = recipe.unit;
  draws.wanted = std::move(wanted);
  draws.batch_rows = recipe.batch_rows;
  draws.rows = [&pairs](int64_t caption) {
    return static_cast<int64_t>(pairs.text(caption).size()) +
           pairs.image_rows(pairs.corpus().picture_of(caption));
  };
  return PairSampler(&pairs.corpus(), draws, SeedOfTask(setting, i));
}

DrawnBatch DrawBatch(const TaskRecipe& recipe, int64_t number, PairSampler* sampler) {
  return recipe.batch_rows > 0 ? sampler->BatchOfRows(number)
                               : sampler->Batch(number, recipe.batch);
}

absl::StatusOr<std::unique_ptr<RecipeTask>> NewRecipeTask(const TaskSetting& setting, size_t i) {
  ASSIGN_OR_RETURN(const Objective* objective, FindObjective(setting.recipe->tasks[i].objective));
  switch (objective->predicted) {
    case Predicted::kNothing:
      return NewPairTask(*objective, setting, i);
    case Predicted::kMatch:
      return NewMatchingTask(*objective, setting, i);
    default:
      return NewMaskedTask(*objective, setting, i);
  }
}

}  // namespace sightline
