// Tasks of words or regions that are hidden: masked language modelling, masked regions, masked
// scene text, each with what the other tower makes of its side where the recipe says so.
//
// Includes torch: only .cc files of common/training include this.
#ifndef SIGHTLINE_COMMON_TRAINING_MASKED_TASK_H_
#define SIGHTLINE_COMMON_TRAINING_MASKED_TASK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/training/recipe_task.h"

namespace sightline {

// As NewRecipeTask; `objective` predicts tokens or regions, and lives as long as the program.
// InvalidArgument for a network that is not learnt so or has not the towers that the recipe speaks
// of, for a vocabulary without a mask, and for pictures without what is to be predicted.
absl::StatusOr<std::unique_ptr<RecipeTask>> NewMaskedTask(const Objective& objective,
                                                          const TaskSetting& setting, size_t i);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_MASKED_TASK_H_
