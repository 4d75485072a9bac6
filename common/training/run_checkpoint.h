// What the checkpoints of all kinds of runs say beside tensors of their own: which job they are of,
// and how far it was.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_RUN_CHECKPOINT_H_
#define SIGHTLINE_COMMON_TRAINING_RUN_CHECKPOINT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/training/checkpoint.h"

namespace sightline {

struct RunPlace {
  int64_t step = 0;                  // done
  std::vector<int64_t> step_counts;  // of each of the optimiser's groups
};

// A checkpoint with these facts and no tensor yet; `job` is lines as LineDifferences compares them.
TrainingCheckpoint CheckpointOf(const std::string& job, const RunPlace& place);

// The newest sound checkpoint of `directory`; nullopt if there is none, or `directory` is empty.
// `warn` is told of each damaged one.  FailedPrecondition, with each difference, for one of another
// job; else as ReadNewestCheckpoint.
absl::StatusOr<absl::optional<TrainingCheckpoint>> FindCheckpoint(
    const std::string& directory, const std::string& job,
    const std::function<void(absl::string_view)>& warn);

// DataLoss, naming `directory`, for a place that no run of `steps` steps and so many groups can be
// at.
absl::StatusOr<RunPlace> PlaceOf(const TrainingCheckpoint& checkpoint, const std::string& directory,
                                 int64_t steps, size_t groups);
absl::Status Contradiction(const std::string& directory);

// Weights that are spoilt must not take the place of sound ones: Internal unless the last step's
// gradient had a length.
absl::Status CheckGradient(const at::Tensor& norm, int64_t step);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_RUN_CHECKPOINT_H_
