#include "common/training/recipe_window.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace sightline {

RecipeWindow::RecipeWindow(const Recipe* recipe, Clock* clock)
    : recipe_(*recipe),
      clock_(*clock),
      begin_(clock->Now()),
      start_(begin_),
      tasks_(recipe->tasks.size()) {}

void RecipeWindow::Add(size_t task, const TaskStep& step) {
  const Loss& loss = step.loss;
  TaskSums& sums = tasks_[task];
  sums.loss = sums.steps == 0 ? loss.value : sums.loss + loss.value;
  ++sums.steps;
  if (loss.first.defined()) {
    sums.first = sums.ranked == 0 ? loss.first : sums.first + loss.first;
    ++sums.ranked;
  }
  items_ += step.items;
  ++steps_;
}

absl::Status RecipeWindow::Report(RecipeStepReport* report) {
  for (size_t i = 0; i < tasks_.size(); ++i) {
    TaskSums& sums = tasks_[i];
    if (sums.steps == 0) continue;
    const auto steps = static_cast<double>(sums.steps);
    RecipeStepReport::Task& task = report->tasks.emplace_back();
    task.objective = TaskName(recipe_, i);
    task.steps = sums.steps;
    task.loss = sums.loss.item<double>() / steps;
    if (sums.ranked > 0) {
      task.first = sums.first.item<double>() / static_cast<double>(sums.ranked);
    }
    if (!std::isfinite(task.loss)) {
      return absl::InternalError(absl::StrCat("the loss of ", task.objective,
                                              " is not finite any more at step ", report->step,
                                              "; start again with a lower rate or a longer "
                                              "warm-up, or, if no step before had a finite one, "
                                              "without regions whose features are too large"));
    }
    sums = TaskSums();
  }
  const absl::Time now = clock_.Now();
  const absl::Duration took = now - start_;
  const double seconds = absl::ToDoubleSeconds(took);
  if (seconds > 0) report->items_per_second = static_cast<double>(items_) / seconds;
  report->elapsed = now - begin_;
  report->remaining = took * (recipe_.steps - report->step) / std::max<int64_t>(steps_, 1);
  start_ = now;
  items_ = steps_ = 0;
  return absl::OkStatus();
}

}  // namespace sightline
