#include "tests/support/allocations.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

constexpr int64_t kHeaderBytes = 8;  // of each block of glibc's

std::atomic<int64_t> held{0};
std::atomic<int64_t> most{0};

void* Allocate(std::size_t size) {
  void* const block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) throw std::bad_alloc();
  const int64_t bytes = static_cast<int64_t>(malloc_usable_size(block)) + kHeaderBytes;
  const int64_t now = held.fetch_add(bytes) + bytes;
  int64_t seen = most.load();
  while (seen < now && !most.compare_exchange_weak(seen, now)) {
  }
  return block;
}

void Free(void* block) noexcept {
  if (block == nullptr) return;
  held -= static_cast<int64_t>(malloc_usable_size(block)) + kHeaderBytes;
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) {
  return Allocate(size);
}
void* operator new[](std::size_t size) {
  return Allocate(size);
}
void operator delete(void* block) noexcept {
  Free(block);
}
void operator delete[](void* block) noexcept {
  Free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  Free(block);
}
void operator delete[](void* block, std::size_t) noexcept {
  Free(block);
}

namespace sightline {

PeakAllocation::PeakAllocation() : before_(held.load()) {
  most = before_;
}

int64_t PeakAllocation::bytes() const {
  return most.load() - before_;
}

int64_t PeakAllocation::bytes_now() const {
  return held.load() - before_;
}

}  // namespace sightline
