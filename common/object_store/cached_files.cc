#include "common/object_store/cached_files.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/manifest.h"
#include "common/log/log.h"

namespace sightline {
namespace {

struct CachedFile {
  absl::Time since;
  std::string path;
  int64_t byte_count = 0;
};

// Whether it is a part of a model or of a generation.  CURRENT is not, and stays.
bool IsContent(absl::string_view path) {
  return absl::StartsWith(path, "models/") ||
         (absl::StartsWith(path, "indexes/") && absl::StrContains(path, "/generations/"));
}

// The oldest first.
absl::StatusOr<std::vector<CachedFile>> ListContent(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFilesBelow(folder));
  std::vector<CachedFile> files;
  for (const std::string& name : names) {
    struct stat info;
    std::string path = JoinPath(folder, name);
    if (!IsContent(name) || ::stat(path.c_str(), &info) != 0) continue;
    files.push_back({absl::TimeFromTimespec(info.st_mtim), std::move(path), info.st_size});
  }
  std::sort(files.begin(), files.end(), [](const CachedFile& a, const CachedFile& b) {
    return std::tie(a.since, a.path) < std::tie(b.since, b.path);
  });
  return files;
}

// Bytes that may be written, with some left for whoever writes little.
absl::StatusOr<int64_t> RoomOnDisk(const std::string& folder) {
  struct statvfs disk;
  if (::statvfs(folder.c_str(), &disk) != 0) return FileError("look at", folder, errno);
  const auto blocks =
      static_cast<int64_t>(disk.f_bavail) - static_cast<int64_t>(disk.f_blocks / 100);
  return blocks * static_cast<int64_t>(disk.f_frsize);
}

}  // namespace

absl::Status MakeRoomInCache(const std::string& folder, int64_t max_bytes, int64_t missing,
                             const std::set<std::string>& kept) {
  ASSIGN_OR_RETURN(const std::vector<CachedFile> files, ListContent(folder));
  int64_t used = 0, needed = 0;
  for (const CachedFile& file : files) {
    used += file.byte_count;
    if (kept.count(file.path) > 0) needed += file.byte_count;
  }
  ASSIGN_OR_RETURN(const int64_t room, RoomOnDisk(folder));
  const int64_t most = std::max<int64_t>(std::min(max_bytes, used + room), 0);
  if (missing > most - needed) {
    return MakeError(
        reasons::kCacheFull,
        absl::StrCat("the cache ", folder, " may hold ", most, " bytes",
                     most < max_bytes ? " on a disk that others fill" : "", "; ", needed,
                     " are in use and ", missing, " more are needed: give it more"));
  }
  for (const CachedFile& file : files) {
    if (used <= most - missing) break;
    if (kept.count(file.path) > 0) continue;
    if (::unlink(file.path.c_str()) != 0 && errno != ENOENT) {
      return FileError("remove", file.path, errno);
    }
    used -= file.byte_count;
    Log(Severity::kInfo, "removed from the cache",
        {{"file", file.path}, {"bytes", file.byte_count}});
  }
  return absl::OkStatus();
}

}  // namespace sightline
