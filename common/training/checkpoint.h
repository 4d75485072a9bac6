// Checkpoints of a training run: one safetensors file each, in a folder that the run has
// for itself.
//
//   checkpoint-000012345.safetensors           tensors by name; facts and a checksum as metadata
//   checkpoint-000012345.safetensors.damaged   one that was found damaged, left for whoever
//                                              wants to look at it; never read again
//
// A file is written whole or not at all, and the one before it stays until the next but
// one, so that a file which a disk has damaged costs minutes, not the run.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_CHECKPOINT_H_
#define SIGHTLINE_COMMON_TRAINING_CHECKPOINT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

struct TrainingCheckpoint {
  std::map<std::string, std::string> facts;
  std::map<std::string, at::Tensor> tensors;  // float32 and int64
};

struct WrittenCheckpoint {
  std::string path;
  int64_t byte_count = 0;
};

// Writes the checkpoint of `step` into `directory`, which is made if it is not there, and
// removes all but the two newest and what it has just written.
absl::StatusOr<WrittenCheckpoint> WriteCheckpoint(absl::string_view directory, int64_t step,
                                                  const TrainingCheckpoint& checkpoint);

// The newest sound checkpoint of `directory`, tensors on the CPU; NotFound if there is
// none.  Newer ones that are damaged are renamed, and `damaged` gets a line for each.
// Remains of writes that were cut off are removed.
//
// One that cannot be read may be sound: rights, too many open files and the like are errors
// that name it, as files.h has them, and nothing older is taken in its place.
absl::StatusOr<TrainingCheckpoint> ReadNewestCheckpoint(absl::string_view directory,
                                                        std::vector<std::string>* damaged);

// Copies `loaded` into the tensors of the same names.  DataLoss, naming the tensor, unless
// names and shapes are the same; nothing is changed then.
absl::Status CopyTensors(const std::map<std::string, at::Tensor>& loaded,
                         const std::map<std::string, at::Tensor>& targets);

// Lines "name=value" that `then` and `now` do not share, as "name: A then, B now; ...".
std::string LineDifferences(absl::string_view then, absl::string_view now);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_CHECKPOINT_H_
