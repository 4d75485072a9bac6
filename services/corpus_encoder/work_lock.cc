#include "services/corpus_encoder/work_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr size_t kMaxJobBytes = 256;

absl::StatusOr<Descriptor> OpenLock(const std::string& path) {
  Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (fd.get() < 0) return FileError("open", path, errno);
  return fd;
}

// False if somebody else has it.
absl::StatusOr<bool> TryLock(const Descriptor& fd, const std::string& path, int operation) {
  if (::flock(fd.get(), operation | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return FileError("lock", path, errno);
}

// Whoever looks at LOCK, or changes between sharing it and having it alone, does so behind
// this door: the steps of one are never seen half done by another.
absl::StatusOr<Descriptor> PassDoor(const std::string& work_directory) {
  const std::string path = JoinPath(work_directory, "LOCK.door");
  ASSIGN_OR_RETURN(Descriptor door, OpenLock(path));
  while (::flock(door.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return FileError("lock", path, errno);
  }
  return door;
}

absl::Status WriteJob(const Descriptor& fd, const std::string& path, absl::string_view job) {
  const bool written =
      ::ftruncate(fd.get(), 0) == 0 &&
      ::pwrite(fd.get(), job.data(), job.size(), 0) == static_cast<ssize_t>(job.size());
  return written ? absl::OkStatus() : FileError("write", path, errno);
}

absl::StatusOr<std::string> ReadJob(const Descriptor& fd, const std::string& path) {
  std::string job(kMaxJobBytes, '\0');
  const ssize_t size = ::pread(fd.get(), job.data(), job.size(), 0);
  if (size < 0) return FileError("read", path, errno);
  job.resize(static_cast<size_t>(size));
  return job;
}

absl::StatusOr<absl::Time> ChangeTime(const Descriptor& fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return FileError("stat", path, errno);
  return absl::TimeFromTimespec(info.st_mtim);
}

}  // namespace

absl::StatusOr<WorkLock> WorkLock::Take(absl::string_view work_directory, const WorkShare& share,
                                        absl::string_view job) {
  const std::string directory(work_directory);
  const std::string path = JoinPath(directory, "LOCK");
  ASSIGN_OR_RETURN(const Descriptor door, PassDoor(directory));
  ASSIGN_OR_RETURN(Descriptor folder, OpenLock(path));
  ASSIGN_OR_RETURN(const bool first, TryLock(folder, path, LOCK_EX));
  if (first) RETURN_IF_ERROR(WriteJob(folder, path, job));
  ASSIGN_OR_RETURN(const absl::Time start, ChangeTime(folder, path));
  if (share.workers == 1) {
    if (first) return WorkLock(directory, std::move(folder), Descriptor(), start);
    return absl::AbortedError(absl::StrCat("another corpus_encoder is at work in ", directory,
                                           "; wait for it, or use another images_index"));
  }
  ASSIGN_OR_RETURN(const bool shared, TryLock(folder, path, LOCK_SH));
  ASSIGN_OR_RETURN(const std::string at_work, ReadJob(folder, path));
  if (!shared || at_work != job) {
    return absl::AbortedError(
        absl::StrCat("another job is at work in ", directory,
                     ": of other settings, other corpora or another number of workers; wait "
                     "until its workers have ended, or use another images_index"));
  }
  const std::string own = JoinPath(directory, absl::StrCat("LOCK.", share.worker));
  ASSIGN_OR_RETURN(Descriptor worker, OpenLock(own));
  ASSIGN_OR_RETURN(const bool free, TryLock(worker, own, LOCK_EX));
  if (!free) {
    return absl::AbortedError(absl::StrCat("another corpus_encoder is at work as worker ",
                                           share.worker, " in ", directory,
                                           "; give each process a --worker of its own"));
  }
  return WorkLock(directory, std::move(folder), std::move(worker), start);
}

bool WorkLock::IfAlone(const std::function<void()>& work) {
  const absl::StatusOr<Descriptor> door = PassDoor(work_directory_);
  if (!door.ok()) return false;
  const bool alone = ::flock(folder_.get(), LOCK_EX | LOCK_NB) == 0;
  if (alone) work();
  // Asking for more has let go of what was there.  Nobody passes the door, so that it can
  // be had again.
  if (worker_.get() >= 0) ::flock(folder_.get(), LOCK_SH);
  return alone;
}

}  // namespace sightline
