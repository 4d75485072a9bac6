#include "common/index/block_lengths.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/float16.h"
#include "common/kernels/inner_products.h"

namespace sightline {
namespace {

constexpr int64_t kBlockBytes = 256 << 10;

int64_t BlockRows(const VectorView& vectors) {
  // What is widened leaves its padding behind.
  const int64_t numbers = vectors.dtype == Dtype::kFloat16 ? vectors.dimension : vectors.stride;
  const int64_t row_bytes = numbers * static_cast<int64_t>(sizeof(float));
  const int64_t rows = std::clamp<int64_t>(kBlockBytes / row_bytes, 1, kernels::kMostProductRows);
  const int64_t tile = kernels::InnerProductKernelFor(kernels::ThisCpu()).tile_rows;
  return rows < tile ? rows : rows / tile * tile;
}

}  // namespace

float LengthAbove(const float* numbers, int64_t n) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return std::nextafter(static_cast<float>(kernels::LengthBound(numbers, n)), kInfinity);
}

BlockLengths::BlockLengths(const VectorView& vectors)
    : vectors_(vectors),
      block_rows_(BlockRows(vectors)),
      longest_((vectors.rows + block_rows_ - 1) / block_rows_) {
  for (auto& length : longest_) length.store(-1, std::memory_order_relaxed);
}

float BlockLengths::Longest(int64_t block) const {
  const float known = longest_[block].load(std::memory_order_relaxed);
  if (known >= 0) return known;
  float longest = 0;
  std::vector<float> widened(vectors_.dtype == Dtype::kFloat16 ? vectors_.dimension : 0);
  const int64_t end = std::min((block + 1) * block_rows_, vectors_.rows);
  for (int64_t row = block * block_rows_; row < end; ++row) {
    const float* numbers = vectors_.float_row(row);
    if (!widened.empty()) {
      Float16ToFloat32(vectors_.row(row), widened.size(), widened.data());
      numbers = widened.data();
    }
    longest = std::max(longest, LengthAbove(numbers, vectors_.dimension));
  }
  longest_[block].store(longest, std::memory_order_relaxed);
  return longest;
}

}  // namespace sightline
