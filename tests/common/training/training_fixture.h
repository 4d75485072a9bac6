// Trains tiny models and writes down what is reported, for tests of whole runs.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_TRAINING_FIXTURE_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_TRAINING_FIXTURE_H_

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/training/joint_trainer.h"
#include "tests/common/training/tiny_training.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {

// Writes down what it is told, and may do something after each step.
class RecordingObserver : public TrainingObserver {
 public:
  std::function<void()> after_step = [] {};

  void OnStep(const StepReport& report) override {
    steps.push_back(report);
    after_step();
  }
  void OnValidation(const ValidationReport& report) override { validations.push_back(report); }
  void OnCheckpoint(const CheckpointReport& report) override { checkpoints.push_back(report); }
  void OnNote(absl::string_view message) override { notes.emplace_back(message); }
  void OnWarning(absl::string_view message) override { warnings.emplace_back(message); }

  bool Noted(absl::string_view text) const { return Says(notes, text); }
  bool Warned(absl::string_view text) const { return Says(warnings, text); }

  // Of the last report that has a cross loss, as a share of the first one's.
  double CrossLossLeft() const {
    double first = 0, last = 0;
    for (const StepReport& report : steps) {
      if (!report.has_cross) continue;
      if (first == 0) first = report.cross_loss;
      last = report.cross_loss;
    }
    REQUIRE(first > 0);
    return last / first;
  }

  std::vector<StepReport> steps;
  std::vector<ValidationReport> validations;
  std::vector<CheckpointReport> checkpoints;
  std::vector<std::string> notes, warnings;

 private:
  static bool Says(const std::vector<std::string>& messages, absl::string_view text) {
    return std::any_of(messages.begin(), messages.end(), [text](const std::string& message) {
      return absl::StrContains(message, text);
    });
  }
};

class TrainingFixture {
 public:
  TrainingJob Job(const TrainingOptions& options = TinyTrainingOptions()) const {
    TrainingJob job;
    job.set = set_.get();
    job.manifest = TinyTrainingManifest();
    job.vocabulary = TinyTrainingVocabulary();
    job.store = dir_.File("store");
    job.options = options;
    job.device = "cpu";
    job.threads = 1;
    job.report_every = 1;
    return job;
  }

  absl::StatusOr<TrainingResult> Train(const TrainingJob& job, RecordingObserver* recorder) const {
    return TrainJointModel(job, recorder, CallContext::Unbounded());
  }

  // Cancels the run when `steps` steps were done in this process.
  absl::Status TrainFor(const TrainingJob& job, size_t steps) const {
    RecordingObserver recorder;
    const CallContext call = CallContext::Unbounded();
    recorder.after_step = [&] {
      if (recorder.steps.size() == steps) call.cancellation()->Cancel();
    };
    return TrainJointModel(job, &recorder, call).status();
  }

  std::string NewFolder() const { return dir_.File(absl::StrCat("checkpoints", folders_++)); }

  // The newest checkpoint: weights, moments, average, hard negatives, all in full.
  std::string NewestBytes(const std::string& folder) const {
    const auto names = ListDirectory(folder);
    REQUIRE(names.ok());
    const auto bytes = ReadFile(JoinPath(folder, names->back()));
    REQUIRE(bytes.ok());
    return *bytes;
  }

 protected:
  const TinyTrainingSet set_;
  const TempDir dir_;
  mutable int folders_ = 0;
};
// Both stages to the end: what was learnt is found.
inline TrainingOptions LongEnough() {
  TrainingOptions options = TinyTrainingOptions();
  options.captions.first = 1;
  options.bi.epochs = 40;
  options.bi.batch_size = 12;
  options.joint.epochs = 240;
  options.joint.cross_steps_per_bi = 4;
  options.joint.queries = 12;
  options.joint.mine_every = 10;
  options.joint.pass_rows = 100000;
  options.validation.every = 0;
  return options;
}
}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_TRAINING_FIXTURE_H_
