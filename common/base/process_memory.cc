#include "common/base/process_memory.h"

#include <unistd.h>

#include <cstdio>

namespace sightline {

int64_t ResidentBytes() {
  long total = 0;
  long resident = 0;  // both in pages
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return int64_t{resident} * ::sysconf(_SC_PAGESIZE);
}

}  // namespace sightline
