// The rows of a matrix, some of them at a time, as the kernel of products takes them: float32 and
// side by side.
//
//   RowBlocks blocks(vectors, lengths, among, begin, end);
//   while (blocks.Next()) Multiply(blocks.rows(), blocks.stride(), blocks.count());
#ifndef SIGHTLINE_COMMON_INDEX_ROW_BLOCKS_H_
#define SIGHTLINE_COMMON_INDEX_ROW_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "common/embedding/row_set.h"
#include "common/index/block_lengths.h"
#include "common/index/vector_index.h"
#include "common/kernels/aligned_buffer.h"

namespace sightline {

// For one thread.  Rows in memory that are float32 already and are all wanted stay where they are;
// others are widened or gathered to a buffer that the L2 cache holds.
class RowBlocks {
 public:
  // Of the rows from `begin` to before `end`, those of `among`; null: all, and then both lie at
  // the bounds of blocks of `lengths`.  The arguments outlive it.  Throws std::bad_alloc.
  RowBlocks(const VectorView& vectors, const BlockLengths& lengths, const RowSet* among,
            int64_t begin, int64_t end);

  // Goes on to the next block, of at most lengths.block_rows() rows; false if there is none.
  bool Next();

  const float* rows() const { return rows_; }
  int64_t stride() const { return stride_; }  // in numbers
  int64_t count() const { return count_; }
  // Where the next block is read from; null where that is not known.
  const float* ahead() const { return ahead_; }
  // The number of the block's row `i` in the matrix; ascending.
  int64_t row(int64_t i) const { return gathered_.empty() ? first_ + i : gathered_[i]; }
  // At least the length of the longest, as BlockLengths::Longest.
  float longest() const { return longest_; }

 private:
  bool NextOfAll();
  bool NextOfSome();
  // The buffer's row `place` becomes the matrix's row `row`.
  void CopyRow(int64_t row, int64_t place);
  // Whether so many rows of a block are wanted that its own longest is worth knowing.
  bool WantsMuchOf(int64_t block) const;

  const VectorView& vectors_;
  const BlockLengths& lengths_;
  const RowSet* const among_;
  const int64_t end_;
  int64_t next_;         // of all rows
  RowSetCursor cursor_;  // of some
  kernels::AlignedBuffer buffer_;

  const float* rows_ = nullptr;
  int64_t stride_ = 0;
  int64_t count_ = 0;
  const float* ahead_ = nullptr;
  int64_t first_ = 0;
  float longest_ = 0;
  std::vector<int64_t> gathered_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_ROW_BLOCKS_H_
