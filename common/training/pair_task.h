// Tasks of texts and pictures as they are: objectives over embeddings, pairs, a matrix of scores.
//
// Includes torch: only .cc files of common/training include this.
#ifndef SIGHTLINE_COMMON_TRAINING_PAIR_TASK_H_
#define SIGHTLINE_COMMON_TRAINING_PAIR_TASK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/training/recipe_task.h"

namespace sightline {

// As NewRecipeTask; `objective` lives as long as the program.
absl::StatusOr<std::unique_ptr<RecipeTask>> NewPairTask(const Objective& objective,
                                                        const TaskSetting& setting, size_t i);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_PAIR_TASK_H_
