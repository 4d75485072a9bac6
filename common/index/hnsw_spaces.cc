#include "common/index/hnsw_spaces.h"

#include <immintrin.h>

#include <cmath>

namespace sightline {

float Float32Similarity(const float* query, const float* row, int64_t n) {
  constexpr int kSums = 8;
  __m256 sums[kSums];
  for (__m256& sum : sums) sum = _mm256_setzero_ps();
  int64_t i = 0;
  for (; i + 8 * kSums <= n; i += 8 * kSums) {
    for (int j = 0; j < kSums; ++j) {
      sums[j] = _mm256_fmadd_ps(_mm256_loadu_ps(query + i + 8 * j),
                                _mm256_loadu_ps(row + i + 8 * j), sums[j]);
    }
  }
  for (; i + 8 <= n; i += 8) {
    sums[0] = _mm256_fmadd_ps(_mm256_loadu_ps(query + i), _mm256_loadu_ps(row + i), sums[0]);
  }
  float rest = 0;
  for (; i < n; ++i) rest = std::fma(query[i], row[i], rest);
  for (int half = kSums / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) sums[j] = _mm256_add_ps(sums[j], sums[j + half]);
  }
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(sums[0]), _mm256_extractf128_ps(sums[0], 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum))) + rest;
}

}  // namespace sightline
