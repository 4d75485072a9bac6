#include "common/index/int8_scan.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/index/prefetch.h"

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Of codes, of the 1 MiB of L2 that a server's core has at least.
constexpr int64_t kChunkBytes = 192 << 10;
// Rows that lie anywhere are on their way from memory while those before are multiplied.
constexpr int64_t kRowsAhead = 4;

}  // namespace

Int8Chunk::Int8Chunk(const Int8Codes& codes)
    : codes_(codes),
      kernel_(kernels::Int8RowKernelFor(kernels::ThisCpu())),
      most_rows_(std::clamp<int64_t>(kChunkBytes / codes.row_bytes(), 16, kMostRows)) {}

void Int8Chunk::Take(int64_t begin, int64_t end) {
  side_by_side_ = true;
  count_ = std::min(most_rows_, end - begin);
  for (int64_t i = 0; i < count_; ++i) TakeNumbers(i, begin + i);
}

void Int8Chunk::Take(RowSetCursor* cursor) {
  side_by_side_ = false;
  count_ = 0;
  for (int64_t row; count_ < most_rows_ && (row = cursor->Next()) >= 0; ++count_) {
    TakeNumbers(count_, row);
  }
}

void Int8Chunk::TakeNumbers(int64_t place, int64_t row) {
  rows_[place] = row;
  scales_[place] = codes_.scales()[row];
  lengths_[place] = codes_.lengths()[row];
  // Of longer ones nothing is known: their products might overflow.
  const float error = codes_.errors()[row];
  errors_[place] = lengths_[place] + error < RoughQuery::kMostLength ? error : kInfinity;
}

void Int8Chunk::Multiply(const kernels::Int16Query& query) {
  const int64_t n = codes_.row_bytes();
  if (side_by_side_) {
    if (count_ > 0) kernel_.products(query.codes.data(), codes_.row(rows_[0]), n, count_, n, sums_);
    return;
  }
  for (int64_t i = 0; i < count_; ++i) {
    if (i + kRowsAhead < count_) PrefetchBytes(codes_.row(rows_[i + kRowsAhead]), n);
    sums_[i] = kernel_.product(query.codes.data(), codes_.row(rows_[i]), n);
  }
}

absl::Span<const Int8Chunk::Found> Int8Chunk::Find(const RoughQuery& query, float floor) {
  Multiply(query.query);
  found_.clear();
  const __m256 query_scale = _mm256_set1_ps(query.query.scale);
  const __m256 per_error = _mm256_set1_ps(query.per_error);
  const __m256 per_length = _mm256_set1_ps(query.per_length);
  const __m256 constant = _mm256_set1_ps(query.constant);
  const __m256 floors = _mm256_set1_ps(floor);
  for (int64_t i = 0; i < count_; i += 8) {
    const __m256 sums =
        _mm256_cvtepi32_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(sums_ + i)));
    const __m256 scores =
        _mm256_mul_ps(_mm256_mul_ps(query_scale, _mm256_load_ps(scales_ + i)), sums);
    const __m256 errors =
        _mm256_fmadd_ps(per_error, _mm256_load_ps(errors_ + i),
                        _mm256_fmadd_ps(per_length, _mm256_load_ps(lengths_ + i), constant));
    // Not below, so that no number passes.
    const __m256 reaches = _mm256_cmp_ps(_mm256_add_ps(scores, errors), floors, _CMP_NLT_UQ);
    auto mask = static_cast<uint32_t>(_mm256_movemask_ps(reaches));
    if (mask == 0) continue;
    alignas(32) float score[8], error[8];
    _mm256_store_ps(score, scores);
    _mm256_store_ps(error, errors);
    for (; mask != 0; mask &= mask - 1) {
      const int place = __builtin_ctz(mask);
      if (i + place >= count_) break;
      const bool known = std::isfinite(score[place]) && std::isfinite(error[place]);
      found_.push_back(
          {rows_[i + place], known ? score[place] : 0, known ? error[place] : kInfinity});
    }
  }
  return found_;
}

}  // namespace sightline
