#include "common/base/resident_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

char* MapAnonymous(int64_t length) {
  void* const mapped = ::mmap(nullptr, static_cast<size_t>(length), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<char*>(mapped);
}

// `length` bytes at a multiple of a huge page: more is mapped, and what lies around is given
// back.
char* MapAligned(int64_t length) {
  char* const mapped = MapAnonymous(length + kHugePage);
  if (mapped == nullptr) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t head = (kHugePage - address % kHugePage) % kHugePage;
  if (head > 0) ::munmap(mapped, head);
  // The kernel counts in pages, and so must what is given back.
  constexpr int64_t kPage = 4096;
  const int64_t end = (length + kPage - 1) / kPage * kPage;
  ::munmap(mapped + head + end, static_cast<size_t>(length + kHugePage - head - end));
  return mapped + head;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ResidentMemory>> ResidentMemory::Allocate(int64_t bytes) {
  const absl::Status no_room = absl::ResourceExhaustedError(
      absl::StrCat("no room for ", bytes, " bytes of memory; lower memory_limit to what there is"));
  if (bytes == 0) return std::unique_ptr<ResidentMemory>(new ResidentMemory(nullptr, 0));
  if (bytes < 0 || bytes > INT64_MAX / 2) return no_room;
  char* const data = bytes < kHugePage ? MapAnonymous(bytes) : MapAligned(bytes);
  if (data == nullptr) return no_room;
  const auto length = static_cast<size_t>(bytes);
  // Wishes, all of them: the memory is good without.
  if (bytes >= kHugePage) ::madvise(data, length, MADV_HUGEPAGE);
  ::madvise(data, length, MADV_DONTDUMP);
  ::mlock2(data, length, MLOCK_ONFAULT);
  return std::unique_ptr<ResidentMemory>(new ResidentMemory(data, bytes));
}

ResidentMemory::~ResidentMemory() {
  if (data_ != nullptr) ::munmap(data_, static_cast<size_t>(size_));
}

}  // namespace sightline
