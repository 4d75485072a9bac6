// Keeps a second job away from a work folder.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_LOCK_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_LOCK_H_

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/descriptor.h"

namespace sightline {

// Held while the object lives, and let go by the kernel when the process ends, however it
// ends.
class WorkLock {
 public:
  // FailedPrecondition if another job has it.
  static absl::StatusOr<WorkLock> Take(absl::string_view work_directory);

 private:
  explicit WorkLock(Descriptor fd) : fd_(std::move(fd)) {}
  Descriptor fd_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_LOCK_H_
