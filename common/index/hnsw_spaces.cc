#include "common/index/hnsw_spaces.h"

#include <immintrin.h>

#include <cmath>

namespace sightline {

// The compiler would keep an array of sums in memory, not in registers: so each has a name.
float Float32Similarity(const float* query, const float* row, int64_t n) {
  const auto products = [query, row](int64_t i, __m256 sum) {
    return _mm256_fmadd_ps(_mm256_loadu_ps(query + i), _mm256_loadu_ps(row + i), sum);
  };
  __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    a = products(i, a);
    b = products(i + 8, b);
    c = products(i + 16, c);
    d = products(i + 24, d);
  }
  for (; i + 8 <= n; i += 8) a = products(i, a);
  float rest = 0;
  for (; i < n; ++i) rest = std::fma(query[i], row[i], rest);
  const __m256 all = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half))) + rest;
}

}  // namespace sightline
