#include "loadtest/run/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/cpu_name.h"
#include "common/base/usable_cores.h"

namespace sightline {
std::map<std::string, std::string> DescribeEnvironment() {
  std::map<std::string, std::string> environment;
  if (std::string model = CpuName(); !model.empty()) environment["cpu"] = std::move(model);
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
