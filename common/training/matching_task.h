// The task of telling whether a text and an image belong together, of pairs of which some do not.
//
// Includes torch: only .cc files of common/training include this.
#ifndef SIGHTLINE_COMMON_TRAINING_MATCHING_TASK_H_
#define SIGHTLINE_COMMON_TRAINING_MATCHING_TASK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/training/recipe_task.h"

namespace sightline {

// As NewRecipeTask; `objective` predicts matches, and lives as long as the program.
// InvalidArgument for a network that scores no pairs, and pairs that cannot be told apart.
absl::StatusOr<std::unique_ptr<RecipeTask>> NewMatchingTask(const Objective& objective,
                                                            const TaskSetting& setting, size_t i);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_MATCHING_TASK_H_
