// Keeps other jobs away from a work folder, and a second process from a worker's part.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_LOCK_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_LOCK_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/descriptor.h"
#include "services/corpus_encoder/work_share.h"

namespace sightline {

// Held while the object lives, and let go by the kernel when the process ends, however it
// ends.  It holds on one machine, and on more where the file system says so.
class WorkLock {
 public:
  // A job of one worker has the folder for itself; workers of a larger job share it, each
  // number once.  `job` tells jobs apart: whoever comes first writes it down, and a worker
  // of another job is refused until all of the first have ended.  Aborted if another
  // process is in the way.
  static absl::StatusOr<WorkLock> Take(absl::string_view work_directory, const WorkShare& share,
                                       absl::string_view job);

  // Calls `work` and returns true if no other process is at work in the folder.  Whoever
  // starts meanwhile waits until it returns, so it should be short.
  bool IfAlone(const std::function<void()>& work);
  bool alone() {
    return IfAlone([] {});
  }

  // When the first worker of this job came, by the clock of the file system.
  absl::Time job_start() const { return job_start_; }

 private:
  WorkLock(std::string work_directory, Descriptor folder, Descriptor worker, absl::Time job_start)
      : work_directory_(std::move(work_directory)),
        folder_(std::move(folder)),
        worker_(std::move(worker)),
        job_start_(job_start) {}

  std::string work_directory_;
  Descriptor folder_, worker_;  // without worker_ the folder is this process's alone
  absl::Time job_start_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_WORK_LOCK_H_
