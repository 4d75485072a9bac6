// Which parameters each task of a recipe teaches.
//
// Parameters that the same tasks teach form a group of the optimiser, so that a step leaves the
// others alone, moments and decay included.  Who teaches what, a backward pass of each task says.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_TAUGHT_GROUPS_H_
#define SIGHTLINE_COMMON_TRAINING_TAUGHT_GROUPS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
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
// `world` find the same: a parameter is taught if any of them gave it a gradient.  Errors as the
// tasks' and as TrainingWorld's.
absl::StatusOr<TaughtGroups> FindTaughtGroups(std::vector<NamedParameter> parameters,
                                              const std::vector<std::unique_ptr<RecipeTask>>& tasks,
                                              TrainingWorld* world);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_TAUGHT_GROUPS_H_
