#include "common/base/random_access_file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/open_regular.h"
#include "common/base/read_pace.h"
#include "common/base/read_progress.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

// Of one call of the system, so that a pace is kept in small steps.
constexpr int64_t kPiece = int64_t{1} << 20;

// What ReadWhatFailed (failed_read.h) needs.
absl::Status Failed(const absl::Status& status, const std::string& path, int64_t offset,
                    int64_t length) {
  return MakeError(
      reasons::kReadFailed,
      absl::StrCat(status.message(), " (at byte ", offset, "); it is tried again"),
      {{"file", path}, {"offset", absl::StrCat(offset)}, {"length", absl::StrCat(length)}});
}

absl::Status ReadAll(int fd, const std::string& path, int64_t offset, int64_t length, char* to) {
  while (length > 0) {
    const int64_t piece = std::min(length, kPiece);
    if (ReadPace* const pace = ReadPace::OfThread()) pace->Await(piece);
    const ssize_t got = ::pread(fd, to, static_cast<size_t>(piece), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(FileError("read", path, errno), path, offset, piece);
    if (got == 0) {
      return Failed(absl::UnavailableError(absl::StrCat("read ", path,
                                                        ": it ends before its end; "
                                                        "it was cut short")),
                    path, offset, piece);
    }
    ReadProgress::AddOnThread(path, got);
    offset += got;
    to += got;
    length -= got;
  }
  return absl::OkStatus();
}

}  // namespace

bool IsFailedRead(const absl::Status& status) {
  return HasReason(status, reasons::kReadFailed);
}

RandomAccessFile::RandomAccessFile(Descriptor fd, std::string path, int64_t size)
    : fd_(std::move(fd)), path_(std::move(path)), size_(size) {}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> RandomAccessFile::Open(absl::string_view path) {
  int64_t size = 0;
  ASSIGN_OR_RETURN(Descriptor fd, OpenRegularFile(path, &size));
  return std::unique_ptr<RandomAccessFile>(
      new RandomAccessFile(std::move(fd), std::string(path), size));
}

absl::Status RandomAccessFile::Read(int64_t offset, int64_t length, char* to) const {
  return ReadAll(fd_.get(), path_, offset, length, to);
}

absl::Status RandomAccessFile::ReadAgain(int64_t offset, int64_t length, char* to) const {
  int64_t size = 0;
  absl::StatusOr<Descriptor> fd = OpenRegularFile(path_, &size);
  if (!fd.ok()) return Failed(fd.status(), path_, offset, length);
  ::posix_fadvise(fd->get(), offset, length, POSIX_FADV_DONTNEED);
  return ReadAll(fd->get(), path_, offset, length, to);
}

bool RandomAccessFile::ReadCached(int64_t offset, int64_t length, char* to) const {
  const iovec piece = {to, static_cast<size_t>(length)};
  return ::preadv2(fd_.get(), &piece, 1, offset, RWF_NOWAIT) == length;
}

void RandomAccessFile::WillNeed(int64_t offset, int64_t length) const {
  ::posix_fadvise(fd_.get(), offset, length, POSIX_FADV_WILLNEED);
}

void RandomAccessFile::DropFromCache(int64_t offset, int64_t length) const {
  ::posix_fadvise(fd_.get(), offset, length, POSIX_FADV_DONTNEED);
}

}  // namespace sightline
