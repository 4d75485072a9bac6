// Keeps other jobs away from a work folder, and a second process from a worker's part.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_LOCK_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_LOCK_H_

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/descriptor.h"
#include "services/corpus_encoder/work_share.h"

namespace sightline {

// Held while the object lives, and let go by the kernel when the process ends, however it
// ends.  It holds on one machine, and on more where the file system says so: it saves
// work, and nothing is wrong without it, since all files appear whole and equal.
class WorkLock {
 public:
  // A job of one worker has the folder for itself; workers of a larger job share it, each
  // number once.  FailedPrecondition if another process is in the way.
  static absl::StatusOr<WorkLock> Take(absl::string_view work_directory, const WorkShare& share);

 private:
  WorkLock(Descriptor folder, Descriptor worker)
      : folder_(std::move(folder)), worker_(std::move(worker)) {}
  Descriptor folder_, worker_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_LOCK_H_
