#include "common/index/block_lengths.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/kernels/inner_products.h"

namespace sightline {
namespace {

constexpr int64_t kBlockBytes = 256 << 10;

int64_t BlockRows(const VectorView& vectors) {
  const int64_t row_bytes = vectors.stride * static_cast<int64_t>(sizeof(float));
  const int64_t rows = std::clamp<int64_t>(kBlockBytes / row_bytes, 1, kernels::kMostProductRows);
  const int64_t tile = kernels::InnerProductKernelFor(kernels::ThisCpu()).tile_rows;
  return rows < tile ? rows : rows / tile * tile;
}

}  // namespace

BlockLengths::BlockLengths(const VectorView& vectors)
    : vectors_(vectors),
      block_rows_(BlockRows(vectors)),
      longest_((vectors.rows + block_rows_ - 1) / block_rows_) {
  for (auto& length : longest_) length.store(-1, std::memory_order_relaxed);
}

float BlockLengths::Longest(int64_t block) const {
  const float known = longest_[block].load(std::memory_order_relaxed);
  if (known >= 0) return known;
  double longest = 0;
  const int64_t end = std::min((block + 1) * block_rows_, vectors_.rows);
  for (int64_t row = block * block_rows_; row < end; ++row) {
    longest = std::max(longest, kernels::LengthBound(vectors_.float_row(row), vectors_.dimension));
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float above = std::nextafter(static_cast<float>(longest), kInfinity);
  longest_[block].store(above, std::memory_order_relaxed);
  return above;
}

}  // namespace sightline
