// Memory for what is searched again and again: nothing in it ever waits for a disk.
#ifndef SIGHTLINE_COMMON_BASE_RESIDENT_MEMORY_H_
#define SIGHTLINE_COMMON_BASE_RESIDENT_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace sightline {

// Anonymous memory, which no file stands behind: in huge pages where the kernel gives them,
// kept from being swapped out where the process may lock that much (RLIMIT_MEMLOCK), and
// left out of core dumps.  Thread-safe as memory is.
class ResidentMemory {
 public:
  // Zeros, from a multiple of 4 KiB on; of 2 MiB where there is that much.  `bytes` may be
  // 0.  ResourceExhausted if there is no room.
  static absl::StatusOr<std::unique_ptr<ResidentMemory>> Allocate(int64_t bytes);
  ~ResidentMemory();
  ResidentMemory(const ResidentMemory&) = delete;
  ResidentMemory& operator=(const ResidentMemory&) = delete;

  char* data() { return data_; }
  const char* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  ResidentMemory(char* data, int64_t size) : data_(data), size_(size) {}

  char* const data_;
  const int64_t size_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_RESIDENT_MEMORY_H_
