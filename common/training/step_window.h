// What the steps since the last report have in common.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_STEP_WINDOW_H_
#define SIGHTLINE_COMMON_TRAINING_STEP_WINDOW_H_

#include <vector>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/training/joint_trainer.h"
#include "common/training/plan.h"
#include "common/training/steps.h"

namespace sightline {

// Keeps the steps' scalars on the device and reads them together, once a report.  Not
// thread-safe.
class StepWindow {
 public:
  explicit StepWindow(Clock* clock) : clock_(clock) { Clear(); }

  void Add(const PlannedStep& planned, const StepOutcome& outcome);
  int64_t count() const { return static_cast<int64_t>(text_.size() + bi_.size() + cross_.size()); }

  // Time that was spent on something else than steps.
  void Pause(absl::Duration duration) { paused_ += duration; }

  // Fills losses, accuracies, norm and speed, and starts anew.
  void Report(StepReport* report);

 private:
  void Clear();

  Clock* const clock_;
  absl::Time start_;
  absl::Duration paused_;
  std::vector<StepOutcome> text_, bi_, cross_;
  double items_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_STEP_WINDOW_H_
