// A task's objective as the task has it.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_TASK_OPTIONS_H_
#define SIGHTLINE_COMMON_TRAINING_TASK_OPTIONS_H_

#include "common/training/objectives/registry.h"
#include "common/training/recipe.h"

namespace sightline {

// The paper's, but for what the task says of what the objective looks at.
ObjectiveOptions OptionsOf(const Objective& objective, const TaskRecipe& task);

// Whether it is of problems, rather than of a batch each of whose texts is compared with all of its
// images.
bool IsOfProblems(const Objective& objective);

// Whether what the task teaches are embeddings, or scores of pairs; one that predicts what is
// hidden teaches neither.
bool TeachesTowers(const Objective& objective, const TaskRecipe& task);
bool TeachesPairs(const Objective& objective, const TaskRecipe& task);

// Whether a task asks for nearest wrong ones.
bool MinesNearest(const Recipe& recipe);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_TASK_OPTIONS_H_
