#include "common/kernels/random_rotation.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>

namespace sightline::kernels {
namespace {

// After four, what one number had is spread over all as if by a dense rotation.
constexpr int kRounds = 4;
constexpr int64_t kLanes = 8;

// splitmix64 (Steele, Lea and Flood, 2014).
uint64_t NextBits(uint64_t* state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Sums and differences of neighbors at distances 1, 2 and 4.
__m256 TransformedEight(__m256 v) {
  const __m256 by1 = _mm256_setr_ps(1, -1, 1, -1, 1, -1, 1, -1);
  const __m256 by2 = _mm256_setr_ps(1, 1, -1, -1, 1, 1, -1, -1);
  const __m256 by4 = _mm256_setr_ps(1, 1, 1, 1, -1, -1, -1, -1);
  v = _mm256_fmadd_ps(v, by1, _mm256_permute_ps(v, 0xB1));
  v = _mm256_fmadd_ps(v, by2, _mm256_permute_ps(v, 0x4E));
  return _mm256_fmadd_ps(v, by4, _mm256_permute2f128_ps(v, v, 1));
}

// a, b = a + b, a - b of `n` numbers each, a multiple of kLanes.
void SumsAndDifferences(float* a, float* b, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const __m256 x = _mm256_loadu_ps(a + i), y = _mm256_loadu_ps(b + i);
    _mm256_storeu_ps(a + i, _mm256_add_ps(x, y));
    _mm256_storeu_ps(b + i, _mm256_sub_ps(x, y));
  }
}

// Of `n` numbers, a power of two of at least 64, without its factor.  The last two levels of each
// pair are taken together, as memory is what the transform waits for.
void Transform(float* v, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) {
    _mm256_storeu_ps(v + i, TransformedEight(_mm256_loadu_ps(v + i)));
  }
  int64_t half = kLanes;
  for (; half * 4 <= n; half *= 4) {
    for (int64_t block = 0; block < n; block += 4 * half) {
      for (int64_t i = block; i < block + half; i += kLanes) {
        const __m256 a = _mm256_loadu_ps(v + i), b = _mm256_loadu_ps(v + i + half);
        const __m256 c = _mm256_loadu_ps(v + i + 2 * half), d = _mm256_loadu_ps(v + i + 3 * half);
        const __m256 ab = _mm256_add_ps(a, b), a_b = _mm256_sub_ps(a, b);
        const __m256 cd = _mm256_add_ps(c, d), c_d = _mm256_sub_ps(c, d);
        _mm256_storeu_ps(v + i, _mm256_add_ps(ab, cd));
        _mm256_storeu_ps(v + i + half, _mm256_add_ps(a_b, c_d));
        _mm256_storeu_ps(v + i + 2 * half, _mm256_sub_ps(ab, cd));
        _mm256_storeu_ps(v + i + 3 * half, _mm256_sub_ps(a_b, c_d));
      }
    }
  }
  if (half * 2 <= n) SumsAndDifferences(v, v + half, half);
}

void Multiply(float* v, const float* by, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) {
    _mm256_storeu_ps(v + i, _mm256_mul_ps(_mm256_loadu_ps(v + i), _mm256_loadu_ps(by + i)));
  }
}

void Scale(float* v, float by, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) {
    _mm256_storeu_ps(v + i, _mm256_mul_ps(_mm256_loadu_ps(v + i), _mm256_set1_ps(by)));
  }
}

}  // namespace

RandomRotation::RandomRotation(int64_t dimension, uint64_t seed)
    : dimension_(dimension), size_(SizeOf(dimension)), power_(64), signs_(kRounds * size_) {
  while (power_ * 2 <= size_) power_ *= 2;
  uint64_t state = seed;
  for (float& sign : signs_) sign = (NextBits(&state) >> 63) != 0 ? 1.0f : -1.0f;
}

int64_t RandomRotation::ByteCount(int64_t dimension) {
  return kRounds * SizeOf(dimension) * static_cast<int64_t>(sizeof(float));
}

void RandomRotation::Rotate(const float* vector, float* rotated) const {
  std::copy_n(vector, dimension_, rotated);
  std::fill(rotated + dimension_, rotated + size_, 0.0f);
  const float by_power = 1 / std::sqrt(static_cast<float>(power_));
  for (int round = 0; round < kRounds; ++round) {
    Multiply(rotated, signs_.data() + round * size_, size_);
    float* const part = round % 2 == 0 ? rotated : rotated + size_ - power_;
    Transform(part, power_);
    Scale(part, by_power, power_);
    if (power_ == size_) continue;
    SumsAndDifferences(rotated, rotated + size_ / 2, size_ / 2);
    Scale(rotated, std::sqrt(0.5f), size_);
  }
}

}  // namespace sightline::kernels
