// Memory that begins at a cache line, and, where it is large, in pages of 2 MiB: weights are read
// from one end to the other, and each small page costs a look-up.
#ifndef SIGHTLINE_COMMON_KERNELS_ALIGNED_BUFFER_H_
#define SIGHTLINE_COMMON_KERNELS_ALIGNED_BUFFER_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace sightline::kernels {

// Of zeros.  Throws std::bad_alloc.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t size) : size_(size) {
    const size_t alignment = size >= kLargePage ? kLargePage : kCacheLine;
    const size_t rounded = (size + alignment - 1) / alignment * alignment;
    bytes_ = alignment == kLargePage ? Map(rounded) : Allocate(rounded);
  }

  int64_t size() const { return size_; }
  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }

 private:
  static constexpr int64_t kLargePage = 2 << 20;
  static constexpr int64_t kCacheLine = 64;
  struct Free {
    Free() : mapped(0) {}
    explicit Free(size_t size) : mapped(size) {}
    size_t mapped;  // 0 if it is malloc's
    void operator()(std::byte* bytes) const {
      if (mapped > 0) {
        munmap(bytes, mapped);
      } else {
        std::free(bytes);
      }
    }
  };
  using Bytes = std::unique_ptr<std::byte, Free>;

  static Bytes Allocate(size_t size) {
    Bytes bytes(static_cast<std::byte*>(std::aligned_alloc(kCacheLine, size)));
    if (bytes == nullptr) throw std::bad_alloc();
    __builtin_memset(bytes.get(), 0, size);
    return bytes;
  }

  // Not malloc's: memory that has been used before lies in small pages already.  What is mapped
  // beyond whole large pages is given back.
  static Bytes Map(size_t size) {
    void* const mapped = mmap(nullptr, size + kLargePage, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    auto* const begin = static_cast<std::byte*>(mapped);
    const size_t head =
        (kLargePage - reinterpret_cast<uintptr_t>(mapped) % kLargePage) % kLargePage;
    if (head > 0) munmap(begin, head);
    munmap(begin + head + size, kLargePage - head);
    // Refused where such pages are not to be had; the memory serves all the same.
    (void)madvise(begin + head, size, MADV_HUGEPAGE);
    return Bytes(begin + head, Free(size));
  }

  int64_t size_ = 0;
  Bytes bytes_;
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_ALIGNED_BUFFER_H_
