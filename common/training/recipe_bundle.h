// The network that a job by a recipe begins with, and the bundle that it becomes.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_RECIPE_BUNDLE_H_
#define SIGHTLINE_COMMON_TRAINING_RECIPE_BUNDLE_H_

#include <c10/core/Device.h>

#include <memory>

#include "absl/status/statusor.h"
#include "common/bundle/model_bundle.h"
#include "common/models/trainable.h"
#include "common/training/objectives/heads.h"
#include "common/training/recipe_trainer.h"

namespace sightline {

// That of job.start, on `device`, with the recipe's dropout and precision; LibTorch computes with
// the job's threads from then on.  Errors as LoadTrainable's; InvalidArgument and
// FailedPrecondition for a precision that the family or the device does not compute in.
absl::StatusOr<std::unique_ptr<TrainableNetwork>> LoadLearner(const RecipeJob& job,
                                                              c10::Device device);

// A bundle of the start's family and vocabulary with the learner's weights, in job.store; heads lie
// beside them, so that another run can go on with these (pretraining_heads.h); `heads` may be
// empty.  All are stored in float16.  InvalidArgument for a weight that is none in float16; else as
// WriteModelBundle.
absl::StatusOr<ModelBundle> WriteLearntBundle(const RecipeJob& job, const TrainableNetwork& learner,
                                              const PretrainingHeads& heads);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_RECIPE_BUNDLE_H_
