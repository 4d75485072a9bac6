// Files, with errors that name the path, and writes that are whole or not there.
#ifndef SIGHTLINE_COMMON_BASE_FILES_H_
#define SIGHTLINE_COMMON_BASE_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/descriptor.h"

namespace sightline {

// Translates errno of a failed call on `path`: NotFound, PermissionDenied, FailedPrecondition (a
// folder, links in a circle, a closed descriptor, something of that name), InvalidArgument (too
// long a name), ResourceExhausted (disk full, too many files), or Unavailable for the rest.  `what`
// says what was tried: "open".
absl::Status FileError(absl::string_view what, absl::string_view path, int error_number);

// The whole file.  ResourceExhausted if it is longer than `max_bytes`, FailedPrecondition
// if it is no regular file (a folder, a pipe), or what FileError gives.
absl::StatusOr<std::string> ReadFile(absl::string_view path, int64_t max_bytes = int64_t{1} << 30);

// Writes a temporary file beside `path`, syncs it, renames it and syncs the folder:
// after a crash there is the old content or the new, nothing between.  Behind a link the file that
// it leads to is replaced; a pipe, a character device and what is open already (/dev/stdout) are
// written to as they are.  Else errors as AtomicFile::Create.
absl::Status WriteFileAtomically(absl::string_view path, absl::string_view content);

// The same for content that comes in pieces.  Dropped without Commit, nothing remains.
// A crash may leave the temporary file, whose name ends in ".tmp".  Not thread-safe.
class AtomicFile {
 public:
  // FailedPrecondition where there is something that is no regular file; else as FileError.
  static absl::StatusOr<std::unique_ptr<AtomicFile>> Create(absl::string_view path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Where the content lies until Commit.
  const std::string& temporary_path() const { return temporary_path_; }

  // Writes all of `bytes` at `offset`; what was never written reads as zero.
  absl::Status WriteAt(int64_t offset, absl::string_view bytes);
  absl::Status Resize(int64_t size);

  // Syncs, renames, syncs the folder.  Once.
  absl::Status Commit();

 private:
  AtomicFile(Descriptor fd, std::string path, std::string temporary_path);
  Descriptor fd_;  // none after Commit
  bool renamed_ = false;
  std::string path_;
  std::string temporary_path_;
};

// mkdir -p, and durable: the folder that a new folder appears in is synced.
absl::Status MakeDirectories(absl::string_view path);
absl::Status SyncDirectory(absl::string_view path);

// Whether anything is there, a folder included.
bool FileExists(absl::string_view path);
// FailedPrecondition if it is no regular file.
absl::StatusOr<int64_t> FileSize(absl::string_view path);

// Paths of all regular files below `directory`, relative to it, sorted bytewise.
// Symbolic links to files count as files; folders behind links are not entered.
absl::StatusOr<std::vector<std::string>> ListFilesBelow(absl::string_view directory);

// Removes the temporary files below `directory` that processes which were killed have left of
// AtomicFiles, if they were written to last before `before`: younger ones may be somebody's who
// still writes.
absl::Status RemoveTemporaryFiles(absl::string_view directory, absl::Time before);

// Names of the direct entries, sorted bytewise.
absl::StatusOr<std::vector<std::string>> ListDirectory(absl::string_view directory);

// With exactly one slash between them; either may be empty.
std::string JoinPath(absl::string_view a, absl::string_view b);

// A file mapped read-only, for jobs and tools.  The mapping lives as long as the object; a
// file that is cut short meanwhile, or a block that cannot be read, ends the process
// (SIGBUS).  What has to live on reads with random_access_file.h.
class MappedFile {
 public:
  // FailedPrecondition if it is no regular file, or what FileError gives.
  static absl::StatusOr<std::unique_ptr<MappedFile>> Open(absl::string_view path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  absl::string_view bytes() const { return absl::string_view(data_, size_); }

 private:
  MappedFile(const char* data, size_t size) : data_(data), size_(size) {}
  const char* data_;
  size_t size_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_FILES_H_
