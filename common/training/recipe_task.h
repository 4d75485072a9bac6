// A recipe's task as a run has it: what a step of it shows the network, and the loss and gradients
// of that.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_RECIPE_TASK_H_
#define SIGHTLINE_COMMON_TRAINING_RECIPE_TASK_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/bundle/model_bundle.h"
#include "common/training/frozen_models.h"
#include "common/training/learnt_pairs.h"
#include "common/training/nearest_wrong.h"
#include "common/training/objectives/heads.h"
#include "common/training/objectives/loss.h"
#include "common/training/objectives/registry.h"
#include "common/training/pair_sampler.h"
#include "common/training/recipe.h"
#include "common/training/wordnet.h"
#include "common/training/world.h"

namespace sightline {

// What the tasks of a run share, and outlives them.
struct TaskSetting {
  const Recipe* recipe = nullptr;
  const LearntPairs* pairs = nullptr;
  at::Tensor log_scale;  // of objectives with a learned scale; on the network's device
  const FrozenModels* frozen = nullptr;   // with all teachers of the recipe
  const NearestWrong* nearest = nullptr;  // of recipes of which a task asks for it
  // What the recipe's objectives predict by (pretraining.h).
  PretrainingHeads heads{nullptr};
  const ModelBundle* start = nullptr;  // what the network was made of
  TrainingWorld* world = nullptr;      // who has the other parts of batches; as IsAlone has it
  const WordNet* wordnet = nullptr;    // of a recipe that names one

  // Of a batch of `count` rows, what this process computes.
  WorldPart PartOf(size_t count) const {
    const auto rows = static_cast<int64_t>(count);
    return world == nullptr ? WorldPart{0, rows} : world->PartOf(rows);
  }
};

struct TaskStep {
  Loss loss;          // without its graph
  int64_t items = 0;  // that were learnt from
};

// Not thread-safe.
class RecipeTask {
 public:
  explicit RecipeTask(const Objective* objective) : objective_(*objective) {}
  virtual ~RecipeTask() = default;

  const Objective& objective() const { return objective_; }

  // Adds the gradients of the task's `number`-th step to those of all parameters that it teaches;
  // of several processes, which all call it, a part of them, which add up to the whole.  What is
  // returned is of the whole batch.
  // What is shown is a function of the recipe's seed and `number`, and where wrong ones are chosen
  // by weights, of these or of what was mined by them.  Errors as
  // LearntPairs::ReadImage, as the call's, which is looked at between passes, and as the loss's:
  // InvalidArgument for a network that lacks what the objective reads, and TrainingWorld's.  Then
  // gradients, and running statistics of norms, are worth nothing.  Of several processes some may
  // fail and others not, but none waits for one that has: they are to agree afterwards
  // (TrainingWorld::Agree).
  virtual absl::StatusOr<TaskStep> AddGradients(int64_t number, const CallContext& call) = 0;

 private:
  const Objective& objective_;
};

// For the parts of tasks.

// Of all that task `i` draws.
uint64_t SeedOfTask(const TaskSetting& setting, size_t i);
// Whether a picture is of the corpora that the task is shown.
bool IsShownBy(const TaskRecipe& task, const PairCorpus& corpus, int64_t picture);
// Whether tags are to be had as the task's `key` needs them: InvalidArgument, which names it, for a
// network that reads none, and if no picture that the task is shown has any.
absl::Status RequireTags(absl::string_view key, const TaskRecipe& task, const LearntPairs& pairs);
// Of the task's pairs, those of pictures that are `wanted`, of which there is one at least; null:
// all.  What it draws from outlives it.
PairSampler SamplerOf(const TaskSetting& setting, size_t i,
                      std::function<bool(int64_t picture)> wanted = nullptr);
// The captions with their pictures that batch `number` shows.
DrawnBatch DrawBatch(const TaskRecipe& recipe, int64_t number, PairSampler* sampler);

// Number `i` of the recipe's tasks.  InvalidArgument for an objective that there is not, or pairs
// that it cannot be learnt from.
absl::StatusOr<std::unique_ptr<RecipeTask>> NewRecipeTask(const TaskSetting& setting, size_t i);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_RECIPE_TASK_H_
