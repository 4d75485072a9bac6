// Which parameters each task of a recipe teaches.
//
// Parameters that the same tasks teach form a group of the optimiser, so that a step leaves the
// others alone, moments and decay included.  Who teaches what, a backward pass of each task says:
// that of the first of its batches in which there is anything to learn.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_TAUGHT_GROUPS_H_
#define SIGHTLINE_COMMON_TRAINING_TAUGHT_GROUPS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/training/adamw.h"
#include "common/training/recipe_task.h"
#include "common/training/world.h"

namespace sightline {

struct TaughtGroups {
  // Those that no task teaches are one of them.
  std::vector<std::vector<NamedParameter>> groups;
  std::vector<std::vector<size_t>> of_task;  // the groups that each task teaches
};

// Of all `parameters`, whose gradients are undefined before and behind it.  All processes of
// `world` find the same: a parameter is taught if any of them gave it a gradient.  InvalidArgument
// for a task of which many batches in a row teach nothing, as where captions have no words to hide;
// else errors as the tasks', which all processes then have, and as TrainingWorld's.
absl::StatusOr<TaughtGroups> FindTaughtGroups(std::vector<NamedParameter> parameters,
                                              const std::vector<std::unique_ptr<RecipeTask>>& tasks,
                                              TrainingWorld* world, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_TAUGHT_GROUPS_H_
