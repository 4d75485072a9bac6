#include "common/training/joint_trainer.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "catch2/catch.hpp"
#include "common/base/files.h"
#include "common/models/model.h"
#include "tests/common/training/tiny_training.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// Writes down what it is told, and may do something after each step.
class Recorder : public TrainingObserver {
 public:
  std::function<void()> after_step = [] {};

  void OnStep(const StepReport& report) override {
    steps.push_back(report);
    after_step();
  }
  void OnValidation(const ValidationReport& report) override { validations.push_back(report); }
  void OnCheckpoint(const CheckpointReport& report) override { checkpoints.push_back(report); }
  void OnNote(absl::string_view message) override { notes.emplace_back(message); }

  bool Noted(absl::string_view text) const {
    for (const std::string& note : notes) {
      if (absl::StrContains(note, text)) return true;
    }
    return false;
  }

  std::vector<StepReport> steps;
  std::vector<ValidationReport> validations;
  std::vector<CheckpointReport> checkpoints;
  std::vector<std::string> notes;
};

class Fixture {
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

  absl::StatusOr<TrainingResult> Train(const TrainingJob& job, Recorder* recorder) const {
    return TrainJointModel(job, recorder, CallContext::Unbounded());
  }

  // Cancels the run when `steps` steps were done in this process.
  absl::Status TrainFor(const TrainingJob& job, size_t steps) const {
    Recorder recorder;
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

TrainingOptions LongEnough() {
  TrainingOptions options = TinyTrainingOptions();
  options.captions.first = 1;
  options.bi.epochs = 100;
  options.bi.batch_size = 12;
  options.joint.epochs = 40;
  options.joint.queries = 12;
  options.joint.mine_every = 10;
  options.joint.pass_rows = 100000;
  options.validation.every = 0;
  return options;
}

TEST_CASE_METHOD(Fixture, "what was learnt is found, by retrieval and by the cross-encoder") {
  Recorder recorder;
  TrainingJob job = Job(LongEnough());
  job.report_every = 50;
  const auto result = Train(job, &recorder);
  INFO(result.status());
  REQUIRE(result.ok());
  REQUIRE(result->validation.has_reranking);
  REQUIRE(result->validation.training.queries == 12);
  REQUIRE(result->validation.pool == 21);
  REQUIRE(result->validation.training.retrieval.at1 == 100);
  REQUIRE(result->validation.training.reranked.at1 == 100);
  REQUIRE(result->device == "cpu");
}

}  // namespace
}  // namespace sightline
