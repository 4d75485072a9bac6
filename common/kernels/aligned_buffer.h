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
    bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
    if (bytes_ == nullptr) throw std::bad_alloc();
    // Refused where such pages are not to be had; the memory serves all the same.
    if (alignment == kLargePage) (void)madvise(bytes_.get(), rounded, MADV_HUGEPAGE);
    __builtin_memset(bytes_.get(), 0, rounded);
  }

  int64_t size() const { return size_; }
  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }

 private:
  static constexpr int64_t kLargePage = 2 << 20;
  static constexpr int64_t kCacheLine = 64;
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  int64_t size_ = 0;
  std::unique_ptr<std::byte, Free> bytes_;
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_ALIGNED_BUFFER_H_
