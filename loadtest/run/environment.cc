#include "loadtest/run/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/base/usable_cores.h"

namespace sightline {
namespace {

// Of the first core.
std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !absl::StartsWith(line, "model name")) continue;
    return std::string(absl::StripAsciiWhitespace(absl::string_view(line).substr(colon + 1)));
  }
  return "";
}

}  // namespace

std::map<std::string, std::string> DescribeEnvironment() {
  std::map<std::string, std::string> environment;
  if (std::string model = CpuModel(); !model.empty()) environment["cpu"] = std::move(model);
  environment["cores"] = absl::StrCat(UsableCores());
  const int64_t pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) {
    environment["memory"] =
        absl::StrFormat("%.1f GiB", static_cast<double>(pages) * static_cast<double>(page) /
                                        static_cast<double>(1 << 30));
  }
  struct utsname name = {};
  if (::uname(&name) == 0) environment["kernel"] = absl::StrCat(name.sysname, " ", name.release);
  return environment;
}

}  // namespace sightline
