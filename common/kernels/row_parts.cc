#include "common/kernels/row_parts.h"

#include <immintrin.h>

#include <cstring>

#include "common/base/float16.h"

namespace sightline::kernels {
namespace {

constexpr int64_t kWidth = 8;

void ReadFloat16(const char* from, int64_t count, float* to) {
  const int64_t whole = count / kWidth * kWidth;
  for (int64_t i = 0; i < whole; i += kWidth) {
    _mm256_storeu_ps(
        to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * i))));
  }
  Float16ToFloat32(from + 2 * whole, count - whole, to + whole);
}

void ReadInt8(const char* from, int64_t n, float scale, float* to) {
  const __m256 scales = _mm256_set1_ps(scale);
  const int64_t whole = n / kWidth * kWidth;
  for (int64_t i = 0; i < whole; i += kWidth) {
    const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i,
                     _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes)), scales));
  }
  for (int64_t i = whole; i < n; ++i)
    to[i] = static_cast<float>(static_cast<int8_t>(from[i])) * scale;
}

}  // namespace

void ReadRows(const RowPart& part, int64_t n, float* to) {
  if (part.rows == 0) return;  // whose numbers may lie nowhere
  const char* const numbers = static_cast<const char*>(part.numbers);
  switch (part.dtype) {
    case Dtype::kFloat16:
      return ReadFloat16(numbers, part.rows * n, to);
    case Dtype::kInt8:
      for (int64_t row = 0; row < part.rows; ++row) {
        float scale;
        std::memcpy(&scale, static_cast<const char*>(part.scales) + row * sizeof(scale),
                    sizeof(scale));
        ReadInt8(numbers + row * n, n, scale, to + row * n);
      }
      return;
    default:
      std::memcpy(to, numbers, part.rows * n * sizeof(float));
  }
}

}  // namespace sightline::kernels
