// Keeps a second job away from a work folder.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_LOCK_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_LOCK_H_

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// Held while the object lives, and let go by the kernel when the process ends, however it
// ends.
class WorkLock {
 public:
  // FailedPrecondition if another job has it.
  static absl::StatusOr<WorkLock> Take(absl::string_view work_directory);
  ~WorkLock();
  WorkLock(WorkLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  WorkLock& operator=(WorkLock&&) = delete;

 private:
  explicit WorkLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_LOCK_H_
