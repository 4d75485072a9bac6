#include "common/base/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/error_details.h"
#include "common/base/open_regular.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

namespace fs = std::filesystem;

constexpr char kTemporary[] = ".tmp";

absl::Status NotARegularFile(absl::string_view path) {
  return absl::FailedPreconditionError(absl::StrCat(path, " is not a regular file"));
}

absl::string_view ParentOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Makes one folder.  True in `made` if it was not there.
absl::Status MakeDirectory(const std::string& path, bool* made) {
  *made = ::mkdir(path.c_str(), 0777) == 0;
  if (*made) return absl::OkStatus();
  const int error_number = errno;
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("make folder ", path, ": something that is no folder has this name"));
  }
  return FileError("make folder", path, error_number);
}

}  // namespace

absl::Status FileError(absl::string_view what, absl::string_view path, int error_number) {
  const std::string message =
      absl::StrCat(what, " ", path, ": ", std::generic_category().message(error_number));
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case EBADF:
    case EEXIST:
    case EISDIR:
    case ELOOP:
      return absl::FailedPreconditionError(message);
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(message);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(absl::StrCat(message, "; make room there"));
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

absl::StatusOr<Descriptor> OpenRegularFile(absl::string_view path, int64_t* size) {
  // O_NONBLOCK: a pipe would have to be waited for.
  Descriptor fd(::open(std::string(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return FileError("open", path, errno);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return FileError("stat", path, errno);
  if (!S_ISREG(info.st_mode)) return NotARegularFile(path);
  *size = info.st_size;
  return fd;
}

absl::StatusOr<std::string> ReadFile(absl::string_view path, int64_t max_bytes) {
  int64_t size = 0;
  ASSIGN_OR_RETURN(const Descriptor fd, OpenRegularFile(path, &size));
  const auto too_long = [&] {
    return WithRetryDelay(
        absl::ResourceExhaustedError(
            absl::StrCat(path, " is longer than the ", max_bytes, " bytes that are read here")),
        absl::InfiniteDuration());
  };
  if (size > max_bytes) return too_long();
  // The size is a hint only: files of /proc say 0, and a log may grow while it is read.
  std::string content;
  content.reserve(static_cast<size_t>(size));
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read", path, errno);
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
    if (static_cast<int64_t>(content.size()) > max_bytes) return too_long();
  }
}

namespace {

// What is written at a path: another file in the place of the one that it leads to, or what is no
// file as it is.
struct Place {
  std::string file;     // where another file takes its place
  bool stream = false;  // a pipe or a character device
};

absl::StatusOr<Place> PlaceOf(absl::string_view path) {
  const std::string name(path);
  struct stat info;
  if (::stat(name.c_str(), &info) != 0) {
    // What is not there is made, also in the place of a link to nothing.
    if (errno == ENOENT) return Place{name};
    return FileError("stat", path, errno);
  }
  // To a file behind /dev/stdout others write too, so that it must stay.
  const bool is_open = absl::StartsWith(path, "/dev/std") || absl::StartsWith(path, "/dev/fd/") ||
                       absl::StartsWith(path, "/proc/");
  if (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode) || (S_ISREG(info.st_mode) && is_open)) {
    return Place{name, true};
  }
  if (!S_ISREG(info.st_mode)) return NotARegularFile(path);
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(name.c_str(), nullptr), &::free);
  if (real == nullptr) return FileError("look at", path, errno);
  struct stat itself;
  const bool is_link = ::lstat(name.c_str(), &itself) == 0 && S_ISLNK(itself.st_mode);
  return Place{is_link ? std::string(real.get()) : name};
}

absl::Status WriteToStream(absl::string_view path, absl::string_view content) {
  Descriptor fd(::open(std::string(path).c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC));
  if (fd.get() < 0) return FileError("open", path, errno);
  while (!content.empty()) {
    const ssize_t put = ::write(fd.get(), content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return FileError("write", path, errno);
    content.remove_prefix(static_cast<size_t>(put));
  }
  if (::close(fd.Release()) != 0) return FileError("close", path, errno);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<AtomicFile>> AtomicFile::Create(absl::string_view name) {
  ASSIGN_OR_RETURN(const Place place, PlaceOf(name));
  if (place.stream) return NotARegularFile(name);
  const std::string& path = place.file;
  static std::atomic<int64_t> counter{0};
  // Process and counter make the name ours; O_EXCL settles what another machine or a
  // crashed process with our number has left.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::string temporary = absl::StrCat(path, ".", ::getpid(), ".", counter++, kTemporary);
    Descriptor fd(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd.get() >= 0) {
      return std::unique_ptr<AtomicFile>(new AtomicFile(std::move(fd), path, std::move(temporary)));
    }
    if (errno != EEXIST) return FileError("create", path, errno);
  }
  return absl::UnavailableError(
      absl::StrCat("create ", path, ": a thousand temporary files beside it; remove them"));
}

AtomicFile::AtomicFile(Descriptor fd, std::string path, std::string temporary_path)
    : fd_(std::move(fd)), path_(std::move(path)), temporary_path_(std::move(temporary_path)) {}

AtomicFile::~AtomicFile() {
  if (!renamed_) ::unlink(temporary_path_.c_str());
}

absl::Status AtomicFile::WriteAt(int64_t offset, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_.get(), bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return FileError("write", temporary_path_, errno);
    offset += put;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Resize(int64_t size) {
  if (::ftruncate(fd_.get(), size) != 0) return FileError("resize", temporary_path_, errno);
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  if (fd_.get() < 0) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " was committed already"));
  }
  if (::fsync(fd_.get()) != 0) return FileError("sync", temporary_path_, errno);
  if (::close(fd_.Release()) != 0) return FileError("close", temporary_path_, errno);
  if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return FileError("rename into place", path_, errno);
  }
  renamed_ = true;
  return SyncDirectory(ParentOf(path_));
}

absl::Status WriteFileAtomically(absl::string_view path, absl::string_view content) {
  ASSIGN_OR_RETURN(const Place place, PlaceOf(path));
  if (place.stream) return WriteToStream(path, content);
  ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file, AtomicFile::Create(path));
  RETURN_IF_ERROR(file->WriteAt(0, content));
  return file->Commit();
}

absl::Status MakeDirectories(absl::string_view path) {
  for (size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    const absl::string_view prefix = path.substr(0, end);
    if (prefix == "/" || prefix.back() == '/') continue;
    bool made = false;
    RETURN_IF_ERROR(MakeDirectory(std::string(prefix), &made));
    if (made) RETURN_IF_ERROR(SyncDirectory(ParentOf(prefix)));
  }
  return absl::OkStatus();
}

absl::Status SyncDirectory(absl::string_view path) {
  const Descriptor fd(::open(std::string(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return FileError("open folder", path, errno);
  // Some network file systems cannot sync a folder and say so with EINVAL.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) return FileError("sync folder", path, errno);
  return absl::OkStatus();
}

bool FileExists(absl::string_view path) {
  struct stat info;
  return ::stat(std::string(path).c_str(), &info) == 0;
}

absl::StatusOr<int64_t> FileSize(absl::string_view path) {
  struct stat info;
  if (::stat(std::string(path).c_str(), &info) != 0) return FileError("stat", path, errno);
  if (!S_ISREG(info.st_mode)) return NotARegularFile(path);
  return static_cast<int64_t>(info.st_size);
}

absl::StatusOr<std::vector<std::string>> ListFilesBelow(absl::string_view directory) {
  const std::string root(directory);
  std::vector<std::string> files;
  std::vector<std::string> folders = {""};  // relative to root, still to be read
  while (!folders.empty()) {
    const std::string folder = std::move(folders.back());
    folders.pop_back();
    ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(JoinPath(root, folder)));
    for (const std::string& name : names) {
      std::string relative = JoinPath(folder, name);
      const std::string path = JoinPath(root, relative);
      std::error_code error;
      const fs::file_status itself = fs::symlink_status(path, error);
      if (fs::is_directory(itself)) {
        folders.push_back(std::move(relative));
      } else if (fs::is_regular_file(fs::status(path, error))) {
        files.push_back(std::move(relative));
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::Status RemoveTemporaryFiles(absl::string_view directory, absl::Time before) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFilesBelow(directory));
  for (const std::string& name : names) {
    const std::string path = JoinPath(directory, name);
    struct stat info = {};
    if (!absl::EndsWith(path, kTemporary) || ::stat(path.c_str(), &info) != 0) continue;
    if (absl::TimeFromTimespec(info.st_mtim) >= before) continue;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return FileError("remove", path, errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ListDirectory(absl::string_view directory) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator entry(std::string(directory), error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) return FileError("list", directory, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

std::string JoinPath(absl::string_view a, absl::string_view b) {
  if (a.empty()) return std::string(b);
  if (b.empty()) return std::string(a);
  while (a.size() > 1 && a.back() == '/') a.remove_suffix(1);
  while (!b.empty() && b.front() == '/') b.remove_prefix(1);
  return absl::StrCat(a, a == "/" ? "" : "/", b);
}

absl::StatusOr<std::unique_ptr<MappedFile>> MappedFile::Open(absl::string_view path) {
  int64_t size = 0;
  ASSIGN_OR_RETURN(const Descriptor fd, OpenRegularFile(path, &size));
  if (size == 0) return std::unique_ptr<MappedFile>(new MappedFile("", 0));
  void* data = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return FileError("map", path, errno);
  return std::unique_ptr<MappedFile>(
      new MappedFile(static_cast<const char*>(data), static_cast<size_t>(size)));
}

MappedFile::~MappedFile() {
  if (size_ != 0) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace sightline
