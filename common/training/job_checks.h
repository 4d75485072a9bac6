// What must hold before a training run begins.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_JOB_CHECKS_H_
#define SIGHTLINE_COMMON_TRAINING_JOB_CHECKS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/bundle/model_bundle.h"
#include "common/training/joint_trainer.h"
#include "common/training/training_rows.h"

namespace sightline {

// The manifest to build: the job's, with the set's vocabulary size, without a cross-encoder
// if none is trained, and with a description.  InvalidArgument, all problems at once.
absl::StatusOr<bundle::v1::ModelBundleManifest> CheckJob(const TrainingJob& job);

// InvalidArgument unless there are rows to learn from, each with others to be told from.
absl::Status CheckRows(const TrainingJob& job, const TrainingRows& rows);

// Everything that decides the weights, as lines "name=value": what a checkpoint must
// share with the job that takes it up.
std::string DescribeJob(const TrainingJob& job, const bundle::v1::ModelBundleManifest& manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_JOB_CHECKS_H_
