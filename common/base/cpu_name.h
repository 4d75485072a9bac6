// What the CPU calls itself, for people.
#ifndef SIGHTLINE_COMMON_BASE_CPU_NAME_H_
#define SIGHTLINE_COMMON_BASE_CPU_NAME_H_

#include <string>

namespace sightline {

// Of the first core, as `path` has it; empty where it has none.
std::string CpuName(const std::string& path = "/proc/cpuinfo");

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_CPU_NAME_H_
