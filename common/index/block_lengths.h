// The longest row of each block of a matrix: how far a product with it may be off.
#ifndef SIGHTLINE_COMMON_INDEX_BLOCK_LENGTHS_H_
#define SIGHTLINE_COMMON_INDEX_BLOCK_LENGTHS_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "common/index/vector_index.h"

namespace sightline {

// At least the length of `n` < 2^20 numbers, and less than a millionth above it; infinite if a
// number is no finite one.
float LengthAbove(const float* numbers, int64_t n);

// Thread-safe.  Four bytes a block.
class BlockLengths {
 public:
  // Of what `vectors` names, which outlives it and lies in memory.  Nothing is read yet.
  explicit BlockLengths(const VectorView& vectors);

  // Rows of every block but the last: of a quarter of the 1 MiB of L2 that a server's core has at
  // least, as float32, or fewer where a kernel takes fewer.
  int64_t block_rows() const { return block_rows_; }
  int64_t block_count() const { return static_cast<int64_t>(longest_.size()); }

  // LengthAbove of the longest row of `block`.  Computed when it is first asked for,
  // which is when the rows are in the cache anyway.
  float Longest(int64_t block) const;

 private:
  const VectorView vectors_;
  const int64_t block_rows_;
  // Negative: not known yet.  All who compute one find the same.
  mutable std::vector<std::atomic<float>> longest_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_BLOCK_LENGTHS_H_
