#include "common/base/usable_memory.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "common/base/files.h"

namespace sightline {

int64_t UsableMemory() {
  int64_t bytes = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const absl::StatusOr<std::string> text = ReadFile(path, 4096);
    int64_t limit = 0;  // "max" is no number
    if (text.ok() && absl::SimpleAtoi(*text, &limit) && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace sightline
