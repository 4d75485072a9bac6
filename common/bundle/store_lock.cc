#include "common/bundle/store_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

absl::Status InProgress(const std::string& directory, const char* what) {
  return absl::AbortedError(
      absl::StrCat(directory, ": another ", what, " is in progress; try again when it has ended"));
}

// Of `path`, which is open as `fd`, below or for `directory`.
absl::StatusOr<StoreLock> Lock(Descriptor fd, const std::string& path, const std::string& directory,
                               const char* what) {
  if (fd.get() < 0 && errno == ENOENT) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory, " is not there: no generation of the index was ever made"));
  }
  if (fd.get() < 0) return FileError("open", path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return StoreLock(std::move(fd));
  if (errno != EWOULDBLOCK) return FileError("lock", path, errno);
  return InProgress(directory, what);
}

absl::StatusOr<StoreLock> Take(const std::string& directory, const char* file, const char* what) {
  const std::string path = JoinPath(directory, file);
  return Lock(Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)), path, directory,
              what);
}

}  // namespace

absl::StatusOr<StoreLock> LockPublications(const std::string& directory) {
  return Take(directory, ".publishing", "publication");
}

absl::StatusOr<StoreLock> LockPruning(const std::string& directory) {
  return Take(directory, ".pruning", "prune");
}

absl::StatusOr<StoreLock> LockGeneration(const std::string& directory) {
  constexpr char kWhat[] = "run that writes this generation";
  Descriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat opened = {};
  if (fd.get() >= 0 && ::fstat(fd.get(), &opened) != 0) return FileError("stat", directory, errno);
  ASSIGN_OR_RETURN(StoreLock lock, Lock(std::move(fd), directory, directory, kWhat));
  // Whoever had it before may have taken the folder away, and somebody else made another.
  struct stat now = {};
  if (::stat(directory.c_str(), &now) != 0 || now.st_ino != opened.st_ino ||
      now.st_dev != opened.st_dev) {
    return InProgress(directory, kWhat);
  }
  return lock;
}

absl::StatusOr<StoreLock> LockIndexBuild(const std::string& directory) {
  return Take(directory, ".building", "build of the same indexes");
}

}  // namespace sightline
