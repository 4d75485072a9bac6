#include "common/object_store/fetch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/descriptor.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/mutex.h"
#include "common/base/read_pace.h"
#include "common/base/read_progress.h"
#include "common/base/status_macros.h"
#include "common/base/work_on_threads.h"

namespace sightline {
namespace {

constexpr absl::Duration kLookAtLock = absl::Milliseconds(100);
constexpr size_t kReadBytes = size_t{1} << 20;
constexpr size_t kStepBytes = size_t{1} << 18;  // that the pace is kept by

absl::Status WriteError(const std::string& path, int error) {
  return AsCacheFull(FileError("write", path, error));
}

// The file that an object is gathered in, from its beginning on: its length says how much there
// is.  The kernel's lock keeps other processes out, and goes with ours.
class PartFile {
 public:
  // None in `fd` if the file is whole by now, made by another process that was waited for.
  static absl::StatusOr<Descriptor> Lock(const std::string& path, const std::string& part,
                                         const CallContext& call) {
    for (;;) {
      RETURN_IF_ERROR(call.Check("fetch"));
      Descriptor fd(::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
      if (fd.get() < 0) return WriteError(part, errno);
      if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return FileError("lock", part, errno);
        call.clock()->SleepUntil(call.clock()->Now() + kLookAtLock);
        continue;
      }
      // Whoever had the lock may have renamed the file, or removed it.
      struct stat ours, there;
      if (::fstat(fd.get(), &ours) != 0) return FileError("look at", part, errno);
      if (::stat(part.c_str(), &there) == 0 && ours.st_ino == there.st_ino) {
        if (!FileExists(path)) return fd;
        ::unlink(part.c_str());
        return Descriptor();
      }
    }
  }

  PartFile(Descriptor fd, std::string part) : fd_(std::move(fd)), path_(std::move(part)) {}

  // Begins to append where the file ends, which is not behind `byte_count`.
  absl::StatusOr<int64_t> Resume(int64_t byte_count, const CallContext& call) {
    struct stat info;
    if (::fstat(fd_.get(), &info) != 0) return FileError("look at", path_, errno);
    size_ = info.st_size;
    if (size_ > byte_count) RETURN_IF_ERROR(Clear());
    std::string piece(kReadBytes, '\0');
    for (int64_t at = 0; at < size_;) {
      RETURN_IF_ERROR(call.Check("fetch"));
      const ssize_t n = ::pread(fd_.get(), &piece[0], piece.size(), at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return FileError("read", path_, n == 0 ? EIO : errno);
      hash_.Update(absl::string_view(piece.data(), static_cast<size_t>(n)));
      at += n;
    }
    return size_;
  }

  absl::Status Append(absl::string_view bytes) {
    hash_.Update(bytes);
    while (!bytes.empty()) {
      const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), size_);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return WriteError(path_, errno);
      size_ += n;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }

  absl::Status Clear() {
    if (::ftruncate(fd_.get(), 0) != 0) return FileError("empty", path_, errno);
    size_ = 0;
    return absl::OkStatus();
  }

  std::string Sha256Hex() { return hash_.Hex(); }

  absl::Status Commit(const std::string& path) {
    if (::fsync(fd_.get()) != 0) return WriteError(path_, errno);
    if (::rename(path_.c_str(), path.c_str()) != 0) return FileError("rename", path_, errno);
    return SyncDirectory(std::filesystem::path(path).parent_path().string());
  }

  void Remove() { ::unlink(path_.c_str()); }

 private:
  const Descriptor fd_;
  const std::string path_;
  int64_t size_ = 0;
  Sha256 hash_;
};

// Pieces come in any order, and are appended in theirs.
class OrderedPieces {
 public:
  // Goes at the calling thread's pace, and counts for its progress.
  OrderedPieces(PartFile* file, const std::string& path, const CallContext& call)
      : file_(file),
        path_(path),
        call_(call),
        pace_(ReadPace::OfThread()),
        progress_(ReadProgress::Scope::current()) {}

  absl::Status Append(size_t number, const absl::StatusOr<std::string>& piece) {
    MutexLock lock(mutex_);
    while (next_ != number && status_.ok()) turn_.Wait(mutex_);
    if (status_.ok()) status_ = AppendNext(piece);
    ++next_;
    turn_.NotifyAll();
    return status_;
  }

 private:
  absl::Status AppendNext(const absl::StatusOr<std::string>& piece) REQUIRES(mutex_) {
    RETURN_IF_ERROR(piece.status());
    for (absl::string_view rest = *piece; !rest.empty();) {
      // In steps, or a slow pace would outlast the call.
      RETURN_IF_ERROR(call_.Check("fetch"));
      const absl::string_view step = rest.substr(0, kStepBytes);
      rest.remove_prefix(step.size());
      const auto size = static_cast<int64_t>(step.size());
      if (pace_ != nullptr) pace_->Await(size);
      RETURN_IF_ERROR(file_->Append(step));
      if (progress_ != nullptr) progress_->Add(path_, size);
    }
    return absl::OkStatus();
  }

  PartFile* const file_;
  const std::string& path_;
  const CallContext& call_;
  ReadPace* const pace_;
  ReadProgress* const progress_;
  Mutex mutex_;
  CondVar turn_;
  size_t next_ GUARDED_BY(mutex_) = 0;
  absl::Status status_ GUARDED_BY(mutex_);
};

absl::Status FetchRest(ObjectStore* store, const ExpectedFile& expected, int64_t begin,
                       const std::string& path, const FetchOptions& options,
                       const CallContext& call, PartFile* file) {
  ReadProgress::AddOnThread(path, begin);
  const int64_t rest = expected.byte_count - begin;
  const int64_t count = rest / options.piece_bytes + (rest % options.piece_bytes != 0 ? 1 : 0);
  OrderedPieces pieces(file, path, call);
  const int threads = static_cast<int>(std::min<int64_t>(options.connections, count));
  return WorkOnThreads(threads, static_cast<size_t>(count), [&](size_t number) {
    const int64_t offset = begin + static_cast<int64_t>(number) * options.piece_bytes;
    const int64_t length = std::min(options.piece_bytes, expected.byte_count - offset);
    return pieces.Append(number, store->Read(expected.key, offset, length, call));
  });
}

absl::Status FetchFailed(const ObjectStore& store, const ExpectedFile& expected,
                         absl::string_view what) {
  return MakeError(reasons::kFetchFailed, absl::StrCat(store.name(), "/", expected.key, " ", what,
                                                       "; ", HowToResend(store)));
}

// An object that is not as it should be may be mended, or come whole the next time.
absl::Status AsFetchFailure(const ObjectStore& store, const ExpectedFile& expected,
                            const absl::Status& status) {
  if (absl::IsOutOfRange(status)) {
    return FetchFailed(
        store, expected,
        absl::StrCat("has not the ", expected.byte_count, " bytes that its manifest says"));
  }
  return status;
}

}  // namespace

std::string HowToResend(const ObjectStore& store) {
  return absl::StrCat("`sightlinectl publish INDEX GENERATION --store DIR --object-store ",
                      store.name(), " --resend` sends what a folder has of it");
}

absl::Status AsCacheFull(const absl::Status& status) {
  return absl::IsResourceExhausted(status) ? WithReason(status, reasons::kCacheFull) : status;
}

absl::Status FetchFile(ObjectStore* store, const ExpectedFile& expected, const std::string& path,
                       const FetchOptions& options, const CallContext& call) {
  if (FileExists(path)) return absl::OkStatus();
  RETURN_IF_ERROR(MakeDirectories(std::filesystem::path(path).parent_path().string()));
  const std::string part = absl::StrCat(path, kPartSuffix);
  ASSIGN_OR_RETURN(Descriptor fd, PartFile::Lock(path, part, call));
  if (fd.get() < 0) return absl::OkStatus();
  PartFile file(std::move(fd), part);
  ASSIGN_OR_RETURN(const int64_t begin, file.Resume(expected.byte_count, call));
  const absl::Status fetched = FetchRest(store, expected, begin, path, options, call, &file);
  // What there is may be of another file; and where the disk is full, others need the room.
  if (absl::IsOutOfRange(fetched) || HasReason(fetched, reasons::kCacheFull)) file.Remove();
  if (!fetched.ok()) return AsFetchFailure(*store, expected, fetched);
  const std::string sha256 = file.Sha256Hex();
  if (sha256 != expected.sha256) {
    file.Remove();
    return FetchFailed(
        *store, expected,
        absl::StrCat("has the SHA-256 ", sha256, "; its manifest says ", expected.sha256));
  }
  return file.Commit(path);
}

}  // namespace sightline
