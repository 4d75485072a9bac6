// Sums over codes of four bits, for whatever registers the including file is compiled for.
// Internal linkage, as vector.h.
//
// A shuffle of bytes looks sixteen codes of a group up at once.  Two tables' numbers are added in
// bytes, and these to sums of 16 bits without being taken apart: `even` takes whole pairs of bytes,
// the odd one 256 times as much, and `odd` the odd byte alone, which is taken off at the end.
#ifndef SIGHTLINE_COMMON_KERNELS_NIBBLE_SCAN_LOOPS_H_
#define SIGHTLINE_COMMON_KERNELS_NIBBLE_SCAN_LOOPS_H_

#include <immintrin.h>

#include <cstdint>

#include "common/kernels/nibble_scan_kernels.h"
#include "common/kernels/vector.h"

namespace sightline::kernels {
namespace {

// Chunks whose sums fit 16 bits: a chunk adds up to four entries to a row's.
constexpr int64_t kChunksAtOnce = 65535 / (kNibbleChunkGroups * kMostNibbleEntry);
// How far ahead of what is summed memory is asked for: some hundred nanoseconds of work.
constexpr int64_t kBytesAhead = 8192;

#if defined(__AVX512BW__)

// Adds the numbers of `chunks` <= kChunksAtOnce chunks to 32 sums, or begins them.
SIGHTLINE_INLINE void AddChunks(const uint8_t* codes, const uint8_t* tables, int64_t chunks,
                                bool first, int32_t* sums) {
  const __m512i low = _mm512_set1_epi8(0x0F);
  __m512i even = _mm512_setzero_si512(), odd = even;
  for (int64_t c = 0; c < chunks; ++c, codes += kNibbleChunkBytes, tables += kNibbleChunkBytes) {
    _mm_prefetch(reinterpret_cast<const char*>(codes) + kBytesAhead, _MM_HINT_T0);
    const __m512i code = _mm512_loadu_si512(codes);
    const __m512i table_a =
        _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(tables)));
    const __m512i table_b =
        _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(tables + 32)));
    const __m512i both = _mm512_add_epi8(
        _mm512_shuffle_epi8(table_a, _mm512_and_si512(code, low)),
        _mm512_shuffle_epi8(table_b, _mm512_and_si512(_mm512_srli_epi16(code, 4), low)));
    even = _mm512_add_epi16(even, both);
    odd = _mm512_add_epi16(odd, _mm512_srli_epi16(both, 8));
  }
  even = _mm512_sub_epi16(even, _mm512_slli_epi16(odd, 8));
  // Two quarters have the same rows, of two pairs of groups.
  even = _mm512_add_epi16(even, _mm512_shuffle_i64x2(even, even, 0xB1));
  odd = _mm512_add_epi16(odd, _mm512_shuffle_i64x2(odd, odd, 0xB1));
  const __m512i order = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
  const __m512i rows = _mm512_permutex2var_epi64(_mm512_unpacklo_epi16(even, odd), order,
                                                 _mm512_unpackhi_epi16(even, odd));
  __m512i front = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(rows));
  __m512i back = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(rows, 1));
  if (!first) {
    front = _mm512_add_epi32(front, _mm512_loadu_si512(sums));
    back = _mm512_add_epi32(back, _mm512_loadu_si512(sums + 16));
  }
  _mm512_storeu_si512(sums, front);
  _mm512_storeu_si512(sums + 16, back);
}

// A bit for each number of `a` that is not below that of `b`; none where one is no number.
SIGHTLINE_INLINE uint32_t Reaches(Vector a, Vector b) {
  return _mm512_cmp_ps_mask(a.v, b.v, _CMP_GE_OQ);
}

#else

SIGHTLINE_INLINE __m256i Load256(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

// What two groups of 16 rows each, in a register's halves, count.
SIGHTLINE_INLINE __m256i NumbersOf(__m256i code, __m256i table_a, __m256i table_b) {
  const __m256i low = _mm256_set1_epi8(0x0F);
  return _mm256_add_epi8(
      _mm256_shuffle_epi8(table_a, _mm256_and_si256(code, low)),
      _mm256_shuffle_epi8(table_b, _mm256_and_si256(_mm256_srli_epi16(code, 4), low)));
}

// The sums of 16 rows from those of pairs of bytes.
SIGHTLINE_INLINE void AddRows(__m256i even, __m256i odd, bool first, int32_t* sums) {
  even = _mm256_sub_epi16(even, _mm256_slli_epi16(odd, 8));
  const __m128i evens =
      _mm_add_epi16(_mm256_castsi256_si128(even), _mm256_extracti128_si256(even, 1));
  const __m128i odds = _mm_add_epi16(_mm256_castsi256_si128(odd), _mm256_extracti128_si256(odd, 1));
  __m256i front = _mm256_cvtepu16_epi32(_mm_unpacklo_epi16(evens, odds));
  __m256i back = _mm256_cvtepu16_epi32(_mm_unpackhi_epi16(evens, odds));
  if (!first) {
    front = _mm256_add_epi32(front, Load256(sums));
    back = _mm256_add_epi32(back, Load256(sums + 8));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums), front);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + 8), back);
}

// Adds the numbers of `chunks` <= kChunksAtOnce chunks to 32 sums, or begins them.
SIGHTLINE_INLINE void AddChunks(const uint8_t* codes, const uint8_t* tables, int64_t chunks,
                                bool first, int32_t* sums) {
  __m256i even_a = _mm256_setzero_si256(), odd_a = even_a, even_b = even_a, odd_b = even_a;
  for (int64_t c = 0; c < chunks; ++c, codes += kNibbleChunkBytes, tables += kNibbleChunkBytes) {
    _mm_prefetch(reinterpret_cast<const char*>(codes) + kBytesAhead, _MM_HINT_T0);
    const __m256i table_a = Load256(tables), table_b = Load256(tables + 32);
    const __m256i a = NumbersOf(Load256(codes), table_a, table_b);
    const __m256i b = NumbersOf(Load256(codes + 32), table_a, table_b);
    even_a = _mm256_add_epi16(even_a, a);
    odd_a = _mm256_add_epi16(odd_a, _mm256_srli_epi16(a, 8));
    even_b = _mm256_add_epi16(even_b, b);
    odd_b = _mm256_add_epi16(odd_b, _mm256_srli_epi16(b, 8));
  }
  AddRows(even_a, odd_a, first, sums);
  AddRows(even_b, odd_b, first, sums + 16);
}

// A bit for each number of `a` that is not below that of `b`; none where one is no number.
SIGHTLINE_INLINE uint32_t Reaches(Vector a, Vector b) {
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_GE_OQ)));
}

#endif

// Writes a block's estimates, and returns which reach the limit.
SIGHTLINE_INLINE uint32_t Estimate(const NibbleScan& scan, const int32_t* sums,
                                   const float* scalars, float* estimates) {
  const Vector step = Vector::Of(scan.step), bias = Vector::Of(scan.bias);
  const Vector base = Vector::Of(scan.base), limit = Vector::Of(scan.limit);
  uint32_t mask = 0;
#pragma GCC unroll 4
  for (int64_t i = 0; i < kNibbleBlockRows; i += Vector::kWidth) {
    const Vector product = Vector::Fma(step, Vector::OfInt32(sums + i), bias);
    const Vector estimate = scan.scalars
                                ? Vector::Fma(Vector::Load(scalars + i), product,
                                              base + Vector::Load(scalars + kNibbleBlockRows + i))
                                : base + product;
    estimate.Store(estimates + i);
    mask |= Reaches(estimate, limit) << i;
  }
  return mask;
}

void ScanNibbles(const NibbleScan& scan, uint32_t* masks, float* estimates) {
  const int64_t code_bytes = scan.chunk_count * kNibbleChunkBytes;
  const int64_t stride = code_bytes + (scan.scalars ? kNibbleScalarBytes : 0);
  const uint8_t* block = scan.blocks;
  for (int64_t b = 0; b < scan.block_count; ++b, block += stride, estimates += kNibbleBlockRows) {
    if (masks[b] == 0) continue;
    alignas(64) int32_t sums[kNibbleBlockRows];
    for (int64_t chunk = 0; chunk < scan.chunk_count; chunk += kChunksAtOnce) {
      const int64_t left = scan.chunk_count - chunk;
      AddChunks(block + chunk * kNibbleChunkBytes, scan.tables + chunk * kNibbleChunkBytes,
                left < kChunksAtOnce ? left : kChunksAtOnce, chunk == 0, sums);
    }
    masks[b] &= Estimate(scan, sums, reinterpret_cast<const float*>(block + code_bytes), estimates);
  }
}

}  // namespace
}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_NIBBLE_SCAN_LOOPS_H_
