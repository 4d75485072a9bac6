#include "common/bundle/store_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"

namespace sightline {
namespace {

absl::StatusOr<StoreLock> Take(const std::string& directory, const char* file, const char* what) {
  const std::string path = JoinPath(directory, file);
  Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (fd.get() < 0 && errno == ENOENT) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory, " is not there: no generation of the index was ever made"));
  }
  if (fd.get() < 0) return FileError("open", path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return StoreLock(std::move(fd));
  if (errno != EWOULDBLOCK) return FileError("lock", path, errno);
  return absl::AbortedError(
      absl::StrCat(directory, ": another ", what, " is in progress; try again"));
}

}  // namespace

absl::StatusOr<StoreLock> LockPublications(const std::string& directory) {
  return Take(directory, ".publishing", "publication");
}

absl::StatusOr<StoreLock> LockPruning(const std::string& directory) {
  return Take(directory, ".pruning", "prune");
}

absl::StatusOr<StoreLock> LockIndexBuild(const std::string& directory) {
  return Take(directory, ".building", "build of the same indexes");
}

}  // namespace sightline
