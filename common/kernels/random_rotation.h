// A rotation drawn at random, which spreads what a vector has in few of its numbers over all of
// them.
//
// It is a product of a few simple ones, in turns: signs drawn at random, Walsh's and Hadamard's
// transform of as many numbers as there are powers of two, at the front or at the back, and, where
// that leaves some out, sums and differences of the two halves (Ailon and Chazelle, "The fast
// Johnson-Lindenstrauss transform", 2009; Kac's walk for other lengths).  So it takes n log n
// steps, and is told by its seed.
#ifndef SIGHTLINE_COMMON_KERNELS_RANDOM_ROTATION_H_
#define SIGHTLINE_COMMON_KERNELS_RANDOM_ROTATION_H_

#include <cstdint>
#include <vector>

namespace sightline::kernels {

// Immutable, thread-safe.  The same bits on every CPU.
class RandomRotation {
 public:
  RandomRotation(int64_t dimension, uint64_t seed);

  // Of a rotated vector: the dimension rounded up to a multiple of 64.
  int64_t size() const { return size_; }
  static constexpr int64_t SizeOf(int64_t dimension) { return (dimension + 63) / 64 * 64; }
  // Of the signs that are kept.
  int64_t byte_count() const { return static_cast<int64_t>(signs_.size() * sizeof(float)); }
  static int64_t ByteCount(int64_t dimension);

  // Rotates `dimension` numbers, behind which zeros are thought, into size() numbers.  The two do
  // not overlap.
  void Rotate(const float* vector, float* rotated) const;

 private:
  int64_t dimension_;
  int64_t size_;
  int64_t power_;             // the largest power of two that is not above the size
  std::vector<float> signs_;  // of each round, size() of them, each 1 or -1
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_RANDOM_ROTATION_H_
