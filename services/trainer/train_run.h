// A training run with everything it needs.
#ifndef SIGHTLINE_SERVICES_TRAINER_TRAIN_RUN_H_
#define SIGHTLINE_SERVICES_TRAINER_TRAIN_RUN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/training/joint_trainer.h"
#include "common/training/training_set.h"
#include "services/trainer/train_config.h"

namespace sightline {

// What a run reads, checked and ready.
struct TrainingInput {
  std::unique_ptr<TrainingSet> set;
  std::unique_ptr<ModelBundle> start, retriever;
  TrainingJob job;  // points to both
};

// Opens what `config` names and makes its folders.  FailedPrecondition if the folder's
// vocabulary is not the one that the set was made with; otherwise as TrainingSet::Open,
// ReadModelConfig and reading report.
absl::StatusOr<TrainingInput> OpenTrainingInput(const TrainConfig& config, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_TRAIN_RUN_H_
