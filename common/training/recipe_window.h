// What the steps of a recipe since the last report have in common, by task.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_RECIPE_WINDOW_H_
#define SIGHTLINE_COMMON_TRAINING_RECIPE_WINDOW_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/training/recipe.h"
#include "common/training/recipe_task.h"
#include "common/training/recipe_trainer.h"

namespace sightline {

// Sums stay on the device and are read together, once a report.  Not thread-safe.
class RecipeWindow {
 public:
  // Both outlive the object; time begins now.
  RecipeWindow(const Recipe* recipe, Clock* clock);

  void Add(size_t task, const TaskStep& step);
  // Steps since the last report.
  int64_t steps() const { return steps_; }

  // Time is taken anew from now on.
  void Restart() { start_ = clock_.Now(); }
  // Time that was spent on something else than steps.
  void Pause(absl::Duration duration) { start_ += duration; }

  // Fills tasks, speed and both times, with report->step done, and begins anew.  Internal for a
  // loss that is not finite any more.
  absl::Status Report(RecipeStepReport* report);

 private:
  struct TaskSums {
    int64_t steps = 0, ranked = 0;  // of all, and of those in which something was ranked
    at::Tensor loss, first;
  };

  const Recipe& recipe_;
  Clock& clock_;
  const absl::Time begin_;
  absl::Time start_;
  std::vector<TaskSums> tasks_;
  int64_t items_ = 0, steps_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_RECIPE_WINDOW_H_
