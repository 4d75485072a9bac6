#include "common/training/taught_groups.h"

#include <ATen/ATen.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// Batches of a task that are looked at.
constexpr int64_t kMostBatches = 100;

// How many processes give each parameter a gradient in the first of the task's batches in which any
// does: one without rows gives none.  Undefined if there is no such batch.
absl::StatusOr<at::Tensor> TaughtBy(RecipeTask* task, std::vector<NamedParameter>* parameters,
                                    TrainingWorld* world, const CallContext& call) {
  for (int64_t number = 0; number < kMostBatches; ++number) {
    RETURN_IF_ERROR(world->Agree(task->AddGradients(number, call).status()));
    const at::Tensor taught = at::zeros({static_cast<int64_t>(parameters->size())}, at::kLong);
    for (size_t i = 0; i < parameters->size(); ++i) {
      at::Tensor& parameter = (*parameters)[i].value;
      if (parameter.grad().defined()) taught[static_cast<int64_t>(i)] = 1;
      parameter.mutable_grad() = at::Tensor();
    }
    RETURN_IF_ERROR(world->AddUp({taught}));
    if (taught.sum().item<int64_t>() > 0) return taught;
  }
  return at::Tensor();
}

}  // namespace

absl::StatusOr<TaughtGroups> FindTaughtGroups(std::vector<NamedParameter> parameters,
                                              const std::vector<std::unique_ptr<RecipeTask>>& tasks,
                                              TrainingWorld* world, const CallContext& call) {
  // By which tasks each parameter is taught.
  std::vector<std::vector<bool>> by(parameters.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    ASSIGN_OR_RETURN(const at::Tensor taught, TaughtBy(tasks[i].get(), &parameters, world, call));
    if (!taught.defined()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tasks.", i, ": ", tasks[i]->objective().name,
                       " finds nothing to learn in its first ", kMostBatches,
                       " batches, as where no caption has a word that could be hidden; leave the "
                       "task out, or take another corpus"));
    }
    for (size_t k = 0; k < by.size(); ++k) {
      by[k].push_back(taught[static_cast<int64_t>(k)].item<int64_t>() > 0);
    }
  }
  std::map<std::vector<bool>, std::vector<NamedParameter>> by_tasks;
  for (size_t k = 0; k < by.size(); ++k) by_tasks[by[k]].push_back(parameters[k]);
  TaughtGroups found;
  found.of_task.resize(tasks.size());
  for (const auto& [teachers, members] : by_tasks) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (teachers[i]) found.of_task[i].push_back(found.groups.size());
    }
    found.groups.push_back(members);
  }
  return found;
}

}  // namespace sightline
