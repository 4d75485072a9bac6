// What people and programs see of a training run.
//
//   bi 350/2 220  epoch 9.5  loss 1.234  hit 45 %  recall@1 12.3 @10 40.1  41/s  12:34 left
//
// Every report becomes a line of OUT/metrics.jsonl, an object whose "event" is "step",
// "validation", "checkpoint" or "note".  A run that continues appends: of two lines for the
// same stage and step the later one holds.
#ifndef SIGHTLINE_SERVICES_TRAINER_TRAINING_REPORTER_H_
#define SIGHTLINE_SERVICES_TRAINER_TRAINING_REPORTER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/training/joint_trainer.h"
#include "services/trainer/run_log.h"

namespace sightline {

// Not thread-safe: for the training thread.
class TrainingReporter : public TrainingObserver {
 public:
  // Errors as RunLog's.
  static absl::StatusOr<std::unique_ptr<TrainingReporter>> Create(const RunLog::Options& options);

  void OnStep(const StepReport& report) override;
  void OnValidation(const ValidationReport& report) override;
  void OnCheckpoint(const CheckpointReport& report) override;
  void OnNote(absl::string_view message) override;
  void OnWarning(absl::string_view message) override;

  // Leaves what is drawn on the terminal as it is.
  void End() { log_->End(); }

 private:
  explicit TrainingReporter(std::unique_ptr<RunLog> log) : log_(std::move(log)) {}

  const std::unique_ptr<RunLog> log_;
  absl::optional<ValidationReport> last_validation_;
};

// The line above.  `validation` may be null.
std::string StepLine(const StepReport& report, const ValidationReport* validation);

// For people, one or two lines without the last line's end:
//   joint step 4000: validation recall@1 25.1 @5 50.2 @10 60.3 (239 queries, pool 10257),
//   reranked 30.1/55.0/63.0, ...
std::string ValidationLine(const ValidationReport& report);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_TRAINING_REPORTER_H_
