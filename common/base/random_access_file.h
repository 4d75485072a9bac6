// A file that is read at any place, by pread.  A bad block, a file that was cut short and a
// stale handle of a network file system are errors here; read through a mapping they are
// SIGBUS, which nobody survives.
#ifndef SIGHTLINE_COMMON_BASE_RANDOM_ACCESS_FILE_H_
#define SIGHTLINE_COMMON_BASE_RANDOM_ACCESS_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/descriptor.h"

namespace sightline {

// Whether `status` says that a file could not be read: READ_FAILED.  That is no damage: the
// disk may be well again in a moment, and then the file is.
bool IsFailedRead(const absl::Status& status);

// Thread-safe.
class RandomAccessFile {
 public:
  // FailedPrecondition if it is no regular file, or what FileError gives.
  static absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(absl::string_view path);

  const std::string& path() const { return path_; }
  // When it was opened.
  int64_t size() const { return size_; }

  // All of the `length` bytes from `offset` on.  Unavailable (READ_FAILED), with path and
  // place: the system refuses, or the file ends before.  Keeps to the calling thread's
  // ReadPace (read_pace.h), and is counted in its ReadProgress (read_progress.h).
  absl::Status Read(int64_t offset, int64_t length, char* to) const;

  // The same through a descriptor of its own and from the disk, as far as the system lets
  // go of the copy that it has in memory: whether what was read wrongly lies there wrongly.
  absl::Status ReadAgain(int64_t offset, int64_t length, char* to) const;

  // Copies the bytes if the system has all of them in memory, and waits for no disk; false, with
  // anything in `to`, if it has not, or cannot tell.
  bool ReadCached(int64_t offset, int64_t length, char* to) const;

  // Has the system begin to read bytes that Read will be asked for next, so that the device works
  // on several such places at once.  Waits for nothing.
  void WillNeed(int64_t offset, int64_t length) const;

  // Lets the system forget its copy of bytes that nobody here will read again, so that it
  // keeps what others read in their place.
  void DropFromCache(int64_t offset, int64_t length) const;

 private:
  RandomAccessFile(Descriptor fd, std::string path, int64_t size);

  const Descriptor fd_;
  const std::string path_;
  const int64_t size_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_RANDOM_ACCESS_FILE_H_
