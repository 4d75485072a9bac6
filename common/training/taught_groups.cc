#include "common/training/taught_groups.h"

#include <ATen/ATen.h>

#include <map>

#include "common/base/status_macros.h"

namespace sightline {

absl::StatusOr<TaughtGroups> FindTaughtGroups(std::vector<NamedParameter> parameters,
                                              const std::vector<std::unique_ptr<RecipeTask>>& tasks,
                                              TrainingWorld* world) {
  const auto count = static_cast<int64_t>(parameters.size());
  const auto task_count = static_cast<int64_t>(tasks.size());
  // How many processes gave a parameter a gradient in a task: one without rows gives none.
  const at::Tensor taught = at::zeros({count, task_count}, at::kLong);
  for (int64_t i = 0; i < task_count; ++i) {
    RETURN_IF_ERROR(tasks[i]->AddGradients(/*number=*/0).status());
    for (int64_t k = 0; k < count; ++k) {
      if (parameters[k].value.grad().defined()) taught[k][i] = 1;
      parameters[k].value.mutable_grad() = at::Tensor();
    }
  }
  RETURN_IF_ERROR(world->AddUp({taught}));
  std::map<std::vector<bool>, std::vector<NamedParameter>> by_tasks;
  for (int64_t k = 0; k < count; ++k) {
    std::vector<bool> by;
    for (int64_t i = 0; i < task_count; ++i) by.push_back(taught[k][i].item<int64_t>() > 0);
    by_tasks[by].push_back(parameters[k]);
  }
  TaughtGroups found;
  found.of_task.resize(tasks.size());
  for (const auto& [by, members] : by_tasks) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (by[i]) found.of_task[i].push_back(found.groups.size());
    }
    found.groups.push_back(members);
  }
  return found;
}

}  // namespace sightline
