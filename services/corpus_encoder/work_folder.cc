#include "services/corpus_encoder/work_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "common/base/files.h"

namespace sightline {
namespace {

bool IsWorkFile(absl::string_view name) {
  return absl::StrContains(name, ".unit") || absl::StrContains(name, ".scan") ||
         absl::StrContains(name, ".base");
}

}  // namespace

void RemoveStaleFiles(absl::string_view work_directory, const std::set<std::string>& wanted,
                      WorkLock& lock) {
  lock.IfAlone([&] {
    const absl::StatusOr<std::vector<std::string>> names = ListDirectory(work_directory);
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      if (!IsWorkFile(name) || wanted.count(name) > 0) continue;
      // Where locks do not reach, a newer file is somebody else's.
      const std::string path = JoinPath(work_directory, name);
      struct stat info;
      if (::stat(path.c_str(), &info) != 0) continue;
      if (absl::TimeFromTimespec(info.st_mtim) > lock.job_start()) continue;
      ::unlink(path.c_str());  // a file that stays costs space, nothing else
    }
  });
}

}  // namespace sightline
