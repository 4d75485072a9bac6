// A register of floats, as wide as the flags with which the including file is compiled allow:
// what the kernels of rows and attention are written in, once for all CPUs.
//
// Everything here has internal linkage, and so must have all that is made of it: two files of one
// program are compiled with different flags, and the linker would keep either one's function.
#ifndef SIGHTLINE_COMMON_KERNELS_VECTOR_H_
#define SIGHTLINE_COMMON_KERNELS_VECTOR_H_

#include <immintrin.h>

#include <cstdint>

namespace sightline::kernels {
namespace {

#define SIGHTLINE_INLINE inline __attribute__((always_inline))

#if defined(__AVX512F__)

struct Vector {
  static constexpr int kWidth = 16;
  __m512 v;

  static SIGHTLINE_INLINE Vector Of(float x) { return {_mm512_set1_ps(x)}; }
  static SIGHTLINE_INLINE Vector Load(const float* p) { return {_mm512_loadu_ps(p)}; }
  // The first `n` < kWidth; zero behind them.
  static SIGHTLINE_INLINE Vector Load(const float* p, int64_t n) {
    return {_mm512_maskz_loadu_ps(First(n), p)};
  }
  SIGHTLINE_INLINE void Store(float* p) const { _mm512_storeu_ps(p, v); }
  SIGHTLINE_INLINE void Store(float* p, int64_t n) const { _mm512_mask_storeu_ps(p, First(n), v); }
  // `other` behind the first `n`.
  SIGHTLINE_INLINE Vector FirstOr(int64_t n, Vector other) const {
    return {_mm512_mask_mov_ps(other.v, First(n), v)};
  }
  SIGHTLINE_INLINE float Sum() const { return _mm512_reduce_add_ps(v); }
  SIGHTLINE_INLINE float Most() const { return _mm512_reduce_max_ps(v); }
  // a * b + c
  static SIGHTLINE_INLINE Vector Fma(Vector a, Vector b, Vector c) {
    return {_mm512_fmadd_ps(a.v, b.v, c.v)};
  }
  static SIGHTLINE_INLINE Vector Max(Vector a, Vector b) { return {_mm512_max_ps(a.v, b.v)}; }
  static SIGHTLINE_INLINE Vector Min(Vector a, Vector b) { return {_mm512_min_ps(a.v, b.v)}; }
  SIGHTLINE_INLINE Vector Abs() const { return {_mm512_abs_ps(v)}; }
  // This one's magnitude with the sign of `sign`.
  SIGHTLINE_INLINE Vector SignedAs(Vector sign) const {
    const __m512i mask = _mm512_set1_epi32(INT32_MIN);
    return {_mm512_castsi512_ps(_mm512_ternarylogic_epi32(mask, _mm512_castps_si512(sign.v),
                                                          _mm512_castps_si512(v), 0xCA))};
  }
  SIGHTLINE_INLINE Vector Rounded() const {
    return {_mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  // times 2^n, of integers n.
  SIGHTLINE_INLINE Vector TimesPowerOfTwo(Vector n) const { return {_mm512_scalef_ps(v, n.v)}; }
  // As int8, of integers in its range.
  SIGHTLINE_INLINE void StoreInt8(int8_t* p) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
  }
  // To the nearest bfloat16, to even from the middle.  Of numbers that are finite.
  SIGHTLINE_INLINE void StoreBfloat16(uint16_t* p) const {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded =
        _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
  }
  static SIGHTLINE_INLINE Vector OfInt32(const int32_t* p) {
    return {_mm512_cvtepi32_ps(_mm512_loadu_si512(p))};
  }
  // Byte `b` of each of kWidth groups of four.
  static SIGHTLINE_INLINE Vector OfByte(const uint8_t* p, int b) {
    const __m512i word = _mm512_srl_epi32(_mm512_loadu_si512(p), _mm_cvtsi32_si128(8 * b));
    return {_mm512_cvtepi32_ps(_mm512_and_si512(word, _mm512_set1_epi32(0xFF)))};
  }

 private:
  static SIGHTLINE_INLINE __mmask16 First(int64_t n) {
    return static_cast<__mmask16>((1u << n) - 1);
  }
};

SIGHTLINE_INLINE Vector operator+(Vector a, Vector b) {
  return {_mm512_add_ps(a.v, b.v)};
}
SIGHTLINE_INLINE Vector operator-(Vector a, Vector b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
SIGHTLINE_INLINE Vector operator*(Vector a, Vector b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
SIGHTLINE_INLINE Vector operator/(Vector a, Vector b) {
  return {_mm512_div_ps(a.v, b.v)};
}

#else

struct Vector {
  static constexpr int kWidth = 8;
  __m256 v;

  static SIGHTLINE_INLINE Vector Of(float x) { return {_mm256_set1_ps(x)}; }
  static SIGHTLINE_INLINE Vector Load(const float* p) { return {_mm256_loadu_ps(p)}; }
  // The first `n` < kWidth; zero behind them.
  static SIGHTLINE_INLINE Vector Load(const float* p, int64_t n) {
    return {_mm256_maskload_ps(p, First(n))};
  }
  SIGHTLINE_INLINE void Store(float* p) const { _mm256_storeu_ps(p, v); }
  SIGHTLINE_INLINE void Store(float* p, int64_t n) const { _mm256_maskstore_ps(p, First(n), v); }
  // `other` behind the first `n`.
  SIGHTLINE_INLINE Vector FirstOr(int64_t n, Vector other) const {
    return {_mm256_blendv_ps(other.v, v, _mm256_castsi256_ps(First(n)))};
  }
  SIGHTLINE_INLINE float Sum() const {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
  }
  SIGHTLINE_INLINE float Most() const {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
  }
  // a * b + c
  static SIGHTLINE_INLINE Vector Fma(Vector a, Vector b, Vector c) {
    return {_mm256_fmadd_ps(a.v, b.v, c.v)};
  }
  static SIGHTLINE_INLINE Vector Max(Vector a, Vector b) { return {_mm256_max_ps(a.v, b.v)}; }
  static SIGHTLINE_INLINE Vector Min(Vector a, Vector b) { return {_mm256_min_ps(a.v, b.v)}; }
  SIGHTLINE_INLINE Vector Abs() const { return {_mm256_andnot_ps(SignBit(), v)}; }
  // This one's magnitude with the sign of `sign`.
  SIGHTLINE_INLINE Vector SignedAs(Vector sign) const {
    return {_mm256_or_ps(Abs().v, _mm256_and_ps(SignBit(), sign.v))};
  }
  SIGHTLINE_INLINE Vector Rounded() const {
    return {_mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  // times 2^n, of integers n from -126 to 127.
  SIGHTLINE_INLINE Vector TimesPowerOfTwo(Vector n) const {
    const __m256i exponent =
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(127)), 23);
    return {_mm256_mul_ps(v, _mm256_castsi256_ps(exponent))};
  }
  // As int8, of integers in its range.
  SIGHTLINE_INLINE void StoreInt8(int8_t* p) const {
    const __m256i words = _mm256_cvtps_epi32(v);
    const __m128i shorts =
        _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(shorts, shorts));
  }
  // To the nearest bfloat16, to even from the middle.  Of numbers that are finite.
  SIGHTLINE_INLINE void StoreBfloat16(uint16_t* p) const {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i high = _mm256_srli_epi32(
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF))), 16);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(p),
        _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1)));
  }
  static SIGHTLINE_INLINE Vector OfInt32(const int32_t* p) {
    return {_mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
  }
  // Byte `b` of each of kWidth groups of four.
  static SIGHTLINE_INLINE Vector OfByte(const uint8_t* p, int b) {
    const __m256i word = _mm256_srl_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
                                          _mm_cvtsi32_si128(8 * b));
    return {_mm256_cvtepi32_ps(_mm256_and_si256(word, _mm256_set1_epi32(0xFF)))};
  }

 private:
  static SIGHTLINE_INLINE __m256 SignBit() { return _mm256_set1_ps(-0.0f); }
  static SIGHTLINE_INLINE __m256i First(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
};

SIGHTLINE_INLINE Vector operator+(Vector a, Vector b) {
  return {_mm256_add_ps(a.v, b.v)};
}
SIGHTLINE_INLINE Vector operator-(Vector a, Vector b) {
  return {_mm256_sub_ps(a.v, b.v)};
}
SIGHTLINE_INLINE Vector operator*(Vector a, Vector b) {
  return {_mm256_mul_ps(a.v, b.v)};
}
SIGHTLINE_INLINE Vector operator/(Vector a, Vector b) {
  return {_mm256_div_ps(a.v, b.v)};
}

#endif

constexpr int64_t kSquare = 8;

// out[d][j] = in[j][d], of kSquare rows and columns.
SIGHTLINE_INLINE void TransposeSquare(const float* in, int64_t in_stride, float* out,
                                      int64_t out_stride) {
  __m256 rows[kSquare], pairs[kSquare], fours[kSquare];
#pragma GCC unroll 8
  for (int i = 0; i < kSquare; ++i) rows[i] = _mm256_loadu_ps(in + i * in_stride);
#pragma GCC unroll 8
  for (int i = 0; i < kSquare; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kSquare; i += 4) {
    fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
    fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kSquare / 2; ++i) {
    _mm256_storeu_ps(out + i * out_stride, _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20));
    _mm256_storeu_ps(out + (i + 4) * out_stride,
                     _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31));
  }
}

// e^x, of x <= 0 within 2 units in the last place; below -87 that of -87, which is 2e-38.  NaN of
// NaN.
// The range is cut at multiples of ln 2, taken off in two parts (Cody and Waite), and the rest is
// Taylor's polynomial of degree 7.
SIGHTLINE_INLINE Vector ExpOfNegative(Vector x) {
  // In this order: the greater of a number and NaN is the second of them.
  const Vector clamped = Vector::Max(Vector::Of(-87.0f), x);
  const Vector n = (clamped * Vector::Of(1.44269504f)).Rounded();
  Vector r = Vector::Fma(n, Vector::Of(-0.693359375f), clamped);
  r = Vector::Fma(n, Vector::Of(2.12194440e-4f), r);
  Vector p = Vector::Of(1.0f / 5040);
  p = Vector::Fma(p, r, Vector::Of(1.0f / 720));
  p = Vector::Fma(p, r, Vector::Of(1.0f / 120));
  p = Vector::Fma(p, r, Vector::Of(1.0f / 24));
  p = Vector::Fma(p, r, Vector::Of(1.0f / 6));
  p = Vector::Fma(p, r, Vector::Of(0.5f));
  p = Vector::Fma(p, r, Vector::Of(1.0f));
  p = Vector::Fma(p, r, Vector::Of(1.0f));
  return p.TimesPowerOfTwo(n);
}

// x Phi(x), within 5e-7 * max(1, |x|): the error function by Abramowitz and Stegun, 7.1.26.
SIGHTLINE_INLINE Vector Gelu(Vector x) {
  const Vector z = x.Abs() * Vector::Of(0.70710678f);
  const Vector t = Vector::Of(1.0f) / Vector::Fma(z, Vector::Of(0.3275911f), Vector::Of(1.0f));
  Vector p = Vector::Of(1.061405429f);
  p = Vector::Fma(p, t, Vector::Of(-1.453152027f));
  p = Vector::Fma(p, t, Vector::Of(1.421413741f));
  p = Vector::Fma(p, t, Vector::Of(-0.284496736f));
  p = Vector::Fma(p, t, Vector::Of(0.254829592f));
  const Vector e = ExpOfNegative(Vector::Of(0.0f) - z * z);
  const Vector erf = Vector::Of(1.0f) - p * t * e;
  const Vector half = x * Vector::Of(0.5f);
  return Vector::Fma(half, erf.SignedAs(x), half);
}

}  // namespace
}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_VECTOR_H_
