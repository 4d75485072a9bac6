#include "services/corpus_encoder/work_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"

namespace sightline {

absl::StatusOr<WorkLock> WorkLock::Take(absl::string_view work_directory) {
  const std::string path = JoinPath(work_directory, "LOCK");
  Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (fd.get() < 0) return FileError("open", path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return WorkLock(std::move(fd));
  if (errno != EWOULDBLOCK) return FileError("lock", path, errno);
  return absl::FailedPreconditionError(absl::StrCat("another corpus_encoder is at work in ",
                                                    work_directory,
                                                    "; wait for it, or use another images_index"));
}

}  // namespace sightline
