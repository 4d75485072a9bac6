// Products of int16 queries with int8 rows, for whatever registers the including file is compiled
// for.  Internal linkage, as vector.h.
#ifndef SIGHTLINE_COMMON_KERNELS_INT8_ROW_PRODUCTS_H_
#define SIGHTLINE_COMMON_KERNELS_INT8_ROW_PRODUCTS_H_

#include <immintrin.h>

#include <cstdint>

#include "common/kernels/int8_row_kernels.h"
#include "common/kernels/vector.h"

namespace sightline::kernels {
namespace {

#if defined(__AVX512BW__)

SIGHTLINE_INLINE int32_t SumOfProducts(const int16_t* query, const int8_t* row, int64_t n) {
  __m512i even = _mm512_setzero_si512(), odd = even;
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    even =
        _mm512_add_epi32(even, _mm512_madd_epi16(_mm512_loadu_si512(query + i),
                                                 _mm512_cvtepi8_epi16(_mm256_loadu_si256(
                                                     reinterpret_cast<const __m256i*>(row + i)))));
    odd = _mm512_add_epi32(odd,
                           _mm512_madd_epi16(_mm512_loadu_si512(query + i + 32),
                                             _mm512_cvtepi8_epi16(_mm256_loadu_si256(
                                                 reinterpret_cast<const __m256i*>(row + i + 32)))));
  }
  if (i < n) {
    even =
        _mm512_add_epi32(even, _mm512_madd_epi16(_mm512_loadu_si512(query + i),
                                                 _mm512_cvtepi8_epi16(_mm256_loadu_si256(
                                                     reinterpret_cast<const __m256i*>(row + i)))));
  }
  return _mm512_reduce_add_epi32(_mm512_add_epi32(even, odd));
}

#else

SIGHTLINE_INLINE __m256i ProductsOf16(const int16_t* query, const int8_t* row) {
  return _mm256_madd_epi16(
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(query)),
      _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row))));
}

SIGHTLINE_INLINE int32_t SumOfProducts(const int16_t* query, const int8_t* row, int64_t n) {
  __m256i even = _mm256_setzero_si256(), odd = even;
  for (int64_t i = 0; i < n; i += 32) {
    even = _mm256_add_epi32(even, ProductsOf16(query + i, row + i));
    odd = _mm256_add_epi32(odd, ProductsOf16(query + i + 16, row + i + 16));
  }
  const __m256i both = _mm256_add_epi32(even, odd);
  __m128i half = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1));
  return _mm_cvtsi128_si32(half);
}

#endif

int32_t Int8RowProduct(const int16_t* query, const int8_t* row, int64_t n) {
  return SumOfProducts(query, row, n);
}

void Int8RowProducts(const int16_t* query, const int8_t* rows, int64_t stride, int64_t count,
                     int64_t n, int32_t* sums) {
  for (int64_t row = 0; row < count; ++row) {
    sums[row] = SumOfProducts(query, rows + row * stride, n);
  }
}

}  // namespace
}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_INT8_ROW_PRODUCTS_H_
