#include "common/base/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"

namespace sightline {
namespace {

constexpr size_t kMostBytes = 64 << 10;
constexpr char kMount[] = "sys/fs/cgroup";

int AllowedCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return CPU_COUNT(&cores);
}

std::string TextOf(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kMostBytes);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

// 0 unless both are positive numbers: "max", -1 and a file that is not there are no limit.
double Share(absl::string_view quota, absl::string_view period) {
  double of = 0, in = 0;
  const bool numbers = absl::SimpleAtod(quota, &of) && absl::SimpleAtod(period, &in);
  return numbers && of > 0 && in > 0 ? of / in : 0;
}

// cpu.max: "200000 100000" or "max 100000".
double LimitOfVersion2(const std::string& folder) {
  const std::pair<absl::string_view, absl::string_view> none;
  const std::string text = TextOf(absl::StrCat(folder, "/cpu.max"));
  const std::pair<absl::string_view, absl::string_view> words =
      text.empty() ? none : absl::StrSplit(text, absl::MaxSplits(' ', 1));
  return Share(words.first, words.second);
}

double LimitOfVersion1(const std::string& folder) {
  return Share(TextOf(absl::StrCat(folder, "/cpu.cfs_quota_us")),
               TextOf(absl::StrCat(folder, "/cpu.cfs_period_us")));
}

double Least(double a, double b) {
  return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
}

// Of the group `path` below `mount` and of all that it lies in.  Where a container sees only
// its own group, the path names folders that are not there, and the mount's root is it.
double LeastOnPath(const std::string& mount, absl::string_view path,
                   double (*limit)(const std::string& folder)) {
  double least = limit(mount);
  std::string folder = mount;
  for (const absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    absl::StrAppend(&folder, "/", part);
    least = Least(least, limit(folder));
  }
  return least;
}

}  // namespace

double CpuLimit(const std::string& root) {
  const std::string mount = JoinPath(root, kMount);
  double least = 0;
  // Lines "0::/path" of version 2, "4:cpu,cpuacct:/path" of version 1.
  const std::string groups = TextOf(JoinPath(root, "proc/self/cgroup"));
  for (const absl::string_view line : absl::StrSplit(groups, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[0] == "0" && parts[1].empty()) {
      least = Least(least, LeastOnPath(mount, parts[2], LimitOfVersion2));
      continue;
    }
    const std::vector<absl::string_view> controllers = absl::StrSplit(parts[1], ',');
    if (!absl::c_linear_search(controllers, "cpu")) continue;
    // Mounted by the list of its controllers, by one of them, or both.
    for (const absl::string_view name : {parts[1], absl::string_view("cpu")}) {
      least = Least(least, LeastOnPath(absl::StrCat(mount, "/", name), parts[2], LimitOfVersion1));
    }
  }
  return least;
}

int CoresWithin(int allowed_cores, double cpu_limit) {
  const int allowed = std::max(allowed_cores, 1);
  if (cpu_limit <= 0 || cpu_limit >= allowed) return allowed;
  return std::max(static_cast<int>(cpu_limit), 1);
}

int UsableCores() {
  return CoresWithin(AllowedCores(), CpuLimit("/"));
}

}  // namespace sightline
