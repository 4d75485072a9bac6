// Numbers of half the width, as files and messages have them: little-endian, at any address.
#ifndef SIGHTLINE_COMMON_BASE_FLOAT16_H_
#define SIGHTLINE_COMMON_BASE_FLOAT16_H_

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sightline {

// `count` numbers at `from`, exactly.
inline void Float16ToFloat32(const char* from, size_t count, float* to) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * sizeof(uint16_t)));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
  for (; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, from + i * sizeof(half), sizeof(half));
    to[i] = _cvtsh_ss(half);
  }
}

// Rounded to the nearest, ties to even; beyond 65504 they become infinite.
inline void Float32ToFloat16(const float* from, size_t count, char* to) {
  for (size_t i = 0; i < count; ++i) {
    const uint16_t half = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(to + i * sizeof(half), &half, sizeof(half));
  }
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_FLOAT16_H_
