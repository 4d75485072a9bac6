#include "services/corpus_encoder/work_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// `taken` is what to say if somebody else has it.
absl::StatusOr<Descriptor> Lock(const std::string& path, int operation, absl::string_view taken) {
  Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (fd.get() < 0) return FileError("open", path, errno);
  if (::flock(fd.get(), operation | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) return FileError("lock", path, errno);
  return absl::FailedPreconditionError(taken);
}

}  // namespace

absl::StatusOr<WorkLock> WorkLock::Take(absl::string_view work_directory, const WorkShare& share) {
  const bool alone = share.workers == 1;
  ASSIGN_OR_RETURN(Descriptor folder,
                   Lock(JoinPath(work_directory, "LOCK"), alone ? LOCK_EX : LOCK_SH,
                        absl::StrCat("another corpus_encoder is at work in ", work_directory,
                                     "; wait for it, or use another images_index")));
  if (alone) return WorkLock(std::move(folder), Descriptor());
  ASSIGN_OR_RETURN(
      Descriptor worker,
      Lock(JoinPath(work_directory, absl::StrCat("LOCK.", share.worker)), LOCK_EX,
           absl::StrCat("another corpus_encoder is at work as worker ", share.worker, " in ",
                        work_directory, "; give each process a --worker of its own")));
  return WorkLock(std::move(folder), std::move(worker));
}

}  // namespace sightline
