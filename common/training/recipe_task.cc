#include "common/training/recipe_task.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/models/network/masked_network.h"
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

absl::Status RequireTags(absl::string_view key, const TaskRecipe& task, const LearntPairs& pairs) {
  const MaskedNetwork* network = MaskedNetworkOf(*pairs.learner().network);
  if (network == nullptr || !network->reads_tags()) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, " of ", task.objective,
                     " needs a network that reads tags: an OSCAR whose manifest has `tags`; leave ",
                     key, " out for another one"));
  }
  const PairCorpus& corpus = pairs.corpus();
  int64_t shown = 0;
  for (int64_t i = 0; i < corpus.picture_count(); ++i) {
    if (!IsShownBy(task, corpus, i)) continue;
    if (pairs.tag_count(i) > 0) return absl::OkStatus();
    ++shown;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(key, " of ", task.objective, " needs tags of pictures, and of ", shown,
                   " none has any; take a corpus with tags, or leave ", key, " out"));
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

namespace {

absl::StatusOr<std::unique_ptr<RecipeTask>> NewTaskOf(const Objective& objective,
                                                      const TaskSetting& setting, size_t i) {
  switch (objective.predicted) {
    case Predicted::kNothing:
      return NewPairTask(objective, setting, i);
    case Predicted::kMatch:
      return NewMatchingTask(objective, setting, i);
    default:
      return NewMaskedTask(objective, setting, i);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecipeTask>> NewRecipeTask(const TaskSetting& setting, size_t i) {
  RETURN_IF_ERROR(CheckCorpus(i, setting.recipe->tasks[i], setting.pairs->corpus()));
  ASSIGN_OR_RETURN(const Objective* objective, FindObjective(setting.recipe->tasks[i].objective));
  auto task = NewTaskOf(*objective, setting, i);
  // Of LightningDOT's sixteen tasks several have one objective.
  if (absl::IsInvalidArgument(task.status())) {
    return Within(absl::StrCat("tasks.", i), task.status());
  }
  return task;
}

}  // namespace sightline
