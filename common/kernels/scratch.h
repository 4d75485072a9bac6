// Memory of a pass, which a later one takes again: of the whole process, since models come and go
// and a thread that led a pass may not lead another.
#ifndef SIGHTLINE_COMMON_KERNELS_SCRATCH_H_
#define SIGHTLINE_COMMON_KERNELS_SCRATCH_H_

#include <cstddef>
#include <cstdint>

#include "common/kernels/aligned_buffer.h"

namespace sightline::kernels {

// What waits for the next pass, in all, is no more than this; what is beyond it is given back.
inline constexpr int64_t kMostIdleScratch = int64_t{64} << 20;

// Its owner's alone as long as it lives; thread-safe in coming and going.
class Scratch {
 public:
  // At least `bytes`, from a cache line on, of any content.  Throws std::bad_alloc.
  explicit Scratch(int64_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::byte* data() { return buffer_.data(); }

 private:
  AlignedBuffer buffer_;
};

// Bytes that wait for the next pass.
int64_t IdleScratch();

// Cuts memory into arrays that begin at cache lines; without any it counts what they take.  Between
// them some lines are left out: arrays of whole pages, side by side, would take turns in the same
// sets of a cache.
class Cutter {
 public:
  explicit Cutter(std::byte* memory) : memory_(memory) {}

  template <typename T>
  T* Take(int64_t count) {
    std::byte* const begin = memory_ == nullptr ? nullptr : memory_ + taken_;
    taken_ += (count * static_cast<int64_t>(sizeof(T)) + kLine - 1) / kLine * kLine + kLeftOut;
    return reinterpret_cast<T*>(begin);
  }
  int64_t taken() const { return taken_; }

 private:
  static constexpr int64_t kLine = 64, kLeftOut = 5 * kLine;

  std::byte* const memory_;
  int64_t taken_ = 0;
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_SCRATCH_H_
