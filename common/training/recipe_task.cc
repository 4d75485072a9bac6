#include "common/training/recipe_task.h"

#include "common/base/status_macros.h"
#include "common/training/pair_task.h"

namespace sightline {

absl::StatusOr<std::unique_ptr<RecipeTask>> NewRecipeTask(const TaskSetting& setting, size_t i) {
  ASSIGN_OR_RETURN(const Objective* objective, FindObjective(setting.recipe->tasks[i].objective));
  return NewPairTask(*objective, setting, i);
}

}  // namespace sightline
