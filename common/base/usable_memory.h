// How much memory this process may use: the one answer for every default that is a share of it.
#ifndef SIGHTLINE_COMMON_BASE_USABLE_MEMORY_H_
#define SIGHTLINE_COMMON_BASE_USABLE_MEMORY_H_

#include <cstdint>

namespace sightline {

// Bytes that the machine has, or that a control group (version 2, or 1) leaves of it.
int64_t UsableMemory();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_USABLE_MEMORY_H_
