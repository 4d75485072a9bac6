#include "common/index/row_blocks.h"

#include <algorithm>

#include "common/base/float16.h"

namespace sightline {
RowBlocks::RowBlocks(const VectorView& vectors, const BlockLengths& lengths, const RowSet* among,
                     int64_t begin, int64_t end)
    : vectors_(vectors),
      lengths_(lengths),
      among_(among),
      end_(end),
      next_(begin),
      cursor_(among, begin, end),
      stride_(vectors.dimension) {
  if (among == nullptr && vectors.dtype == Dtype::kFloat32) {
    stride_ = vectors.stride;
  } else {
    buffer_ = kernels::AlignedBuffer(lengths.block_rows() * stride_ *
                                     static_cast<int64_t>(sizeof(float)));
    rows_ = reinterpret_cast<const float*>(buffer_.data());
  }
}

bool RowBlocks::Next() {
  return among_ == nullptr ? NextOfAll() : NextOfSome();
}

bool RowBlocks::NextOfAll() {
  if (next_ >= end_) return false;
  first_ = next_;
  count_ = std::min(lengths_.block_rows(), end_ - next_);
  next_ += count_;
  if (buffer_.size() == 0) {
    rows_ = vectors_.float_row(first_);
  } else {
    for (int64_t i = 0; i < count_; ++i) CopyRow(first_ + i, i);
    ahead_ = next_ < end_ ? vectors_.float_row(next_) : nullptr;
  }
  longest_ = lengths_.Longest(first_ / lengths_.block_rows());
  return true;
}

bool RowBlocks::NextOfSome() {
  gathered_.clear();
  longest_ = 0;
  int64_t block = -1;
  bool of_block = false;
  for (int64_t row; static_cast<int64_t>(gathered_.size()) < lengths_.block_rows() &&
                    (row = cursor_.Next()) >= 0;) {
    const auto place = static_cast<int64_t>(gathered_.size());
    CopyRow(row, place);
    gathered_.push_back(row);
    if (row / lengths_.block_rows() != block) {
      block = row / lengths_.block_rows();
      of_block = WantsMuchOf(block);
      if (of_block) longest_ = std::max(longest_, lengths_.Longest(block));
    }
    if (!of_block) {
      longest_ = std::max(longest_, LengthAbove(rows_ + place * stride_, vectors_.dimension));
    }
  }
  count_ = static_cast<int64_t>(gathered_.size());
  return count_ > 0;
}

void RowBlocks::CopyRow(int64_t row, int64_t place) {
  float* const to = reinterpret_cast<float*>(buffer_.data()) + place * stride_;
  if (vectors_.dtype == Dtype::kFloat16) {
    Float16ToFloat32(vectors_.row(row), static_cast<size_t>(vectors_.dimension), to);
  } else {
    std::copy_n(vectors_.float_row(row), vectors_.dimension, to);
  }
}

bool RowBlocks::WantsMuchOf(int64_t block) const {
  if (among_->is_list()) return false;
  const int64_t first = block * lengths_.block_rows();
  const int64_t last = std::min(first + lengths_.block_rows(), vectors_.rows);
  int64_t wanted = 0;
  for (int64_t word = first / 64; word * 64 < last; ++word) {
    wanted += __builtin_popcountll(among_->words()[word]);
  }
  return wanted >= lengths_.block_rows() / 8;
}

}  // namespace sightline
