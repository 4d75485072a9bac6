#include "common/training/recipe_task.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/training/masked_task.h"
#include "common/training/matching_task.h"
#include "common/training/pair_task.h"
#include "common/training/random.h"

namespace sightline {

uint64_t SeedOfTask(const TaskSetting& setting, size_t i) {
  return SeedOf(setting.recipe->seed, RandomStream::kTaskDraws, i);
}

namespace {

// Of pictures that are `wanted`, those of the task's corpus; null: all.
std::function<bool(int64_t picture)> OfCorpus(const TaskRecipe& task, const PairCorpus& corpus,
                                              std::function<bool(int64_t picture)> wanted) {
  if (task.corpus == 0) return wanted;
  return [&task, &corpus, wanted = std::move(wanted)](int64_t picture) {
    return IsShownBy(task, corpus, picture) && (wanted == nullptr || wanted(picture));
  };
}

absl::Status CheckCorpus(size_t i, const TaskRecipe& task, const PairCorpus& corpus) {
  for (int64_t picture = 0; picture < corpus.picture_count(); ++picture) {
    if (IsShownBy(task, corpus, picture)) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "tasks.", i, ".corpus is ", task.corpus,
      ", and none of the pictures that are learnt from is of it; of ", corpus.corpus_count(),
      " corpora the first is 1. Are its split and its languages those that are learnt from? Else "
      "leave the task out"));
}

}  // namespace

bool IsShownBy(const TaskRecipe& task, const PairCorpus& corpus, int64_t picture) {
  return task.corpus == 0 || corpus.corpus_of(picture) == task.corpus - 1;
}

PairSampler SamplerOf(const TaskSetting& setting, size_t i,
                      std::function<bool(int64_t picture)> wanted) {
  const TaskRecipe& recipe = setting.recipe->tasks[i];
  const LearntPairs& pairs = *setting.pairs;
  PairDraws draws;
  draws.unit = recipe.unit;
  draws.wanted = OfCorpus(recipe, pairs.corpus(), std::move(wanted));
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
  RETURN_IF_ERROR(CheckCorpus(i, setting.recipe->tasks[i], setting.pairs->corpus()));
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
