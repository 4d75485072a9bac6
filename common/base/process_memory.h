// What this process takes of the machine's memory.
#ifndef SIGHTLINE_COMMON_BASE_PROCESS_MEMORY_H_
#define SIGHTLINE_COMMON_BASE_PROCESS_MEMORY_H_

#include <cstdint>

namespace sightline {

// Bytes that are resident now, as the kernel counts them; 0 if it does not say.
int64_t ResidentBytes();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_PROCESS_MEMORY_H_
