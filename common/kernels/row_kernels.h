// Encoding and LayerNorm of one row, for whatever registers the including file is compiled for.
// Internal linkage, as vector.h.
#ifndef SIGHTLINE_COMMON_KERNELS_ROW_KERNELS_H_
#define SIGHTLINE_COMMON_KERNELS_ROW_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "common/kernels/kernels.h"
#include "common/kernels/vector.h"

namespace sightline::kernels {
namespace {

// body(i, n): the numbers i .. i + n of a row; n is kWidth but for the last.
#define SIGHTLINE_FOR_VECTORS(i, n) \
  for (int64_t i = 0, left_##i = (n); left_##i > 0; i += Vector::kWidth, left_##i -= Vector::kWidth)

SIGHTLINE_INLINE Vector LoadSome(const float* p, int64_t left) {
  return left >= Vector::kWidth ? Vector::Load(p) : Vector::Load(p, left);
}

SIGHTLINE_INLINE void StoreSome(Vector x, float* p, int64_t left) {
  if (left >= Vector::kWidth) {
    x.Store(p);
  } else {
    x.Store(p, left);
  }
}

inline void Zero(std::byte* begin, const std::byte* end) {
  while (begin < end) *begin++ = std::byte{0};
}

void AddAndNorm(const float* x, const float* residual, int64_t n, const float* gain,
                const float* shift, float epsilon, float* out) {
  Vector sum = Vector::Of(0);
  SIGHTLINE_FOR_VECTORS(i, n) {
    const Vector both = LoadSome(x + i, left_i) + LoadSome(residual + i, left_i);
    sum = sum + both;
    StoreSome(both, out + i, left_i);
  }
  const float count = static_cast<float>(n);
  const Vector mean = Vector::Of(sum.Sum() / count);
  Vector squares = Vector::Of(0);
  SIGHTLINE_FOR_VECTORS(i, n) {
    Vector off = LoadSome(out + i, left_i) - mean;
    if (left_i < Vector::kWidth) off = off.FirstOr(left_i, Vector::Of(0));
    squares = Vector::Fma(off, off, squares);
  }
  const Vector inverse = Vector::Of(1.0f / __builtin_sqrtf(squares.Sum() / count + epsilon));
  SIGHTLINE_FOR_VECTORS(i, n) {
    const Vector normed = (LoadSome(out + i, left_i) - mean) * inverse;
    StoreSome(Vector::Fma(normed, LoadSome(gain + i, left_i), LoadSome(shift + i, left_i)), out + i,
              left_i);
  }
}

void EncodeFloat32(const float* x, int64_t n, int64_t row_bytes, std::byte* row, RowCode*) {
  float* const out = reinterpret_cast<float*>(row);
  SIGHTLINE_FOR_VECTORS(i, n) StoreSome(LoadSome(x + i, left_i), out + i, left_i);
  Zero(row + n * 4, row + row_bytes);
}

// A row has room for whole vectors: row_bytes is a multiple of theirs, and zero becomes zero.
void EncodeBfloat16(const float* x, int64_t n, int64_t row_bytes, std::byte* row, RowCode*) {
  uint16_t* const out = reinterpret_cast<uint16_t*>(row);
  int64_t done = 0;
  SIGHTLINE_FOR_VECTORS(i, n) {
    LoadSome(x + i, left_i).StoreBfloat16(out + i);
    done = i + Vector::kWidth;
  }
  Zero(row + done * 2, row + row_bytes);
}

struct Magnitudes {
  float most = 0;
  float sum = 0;
};

SIGHTLINE_INLINE Magnitudes MagnitudesOf(const float* x, int64_t n) {
  // Several of each, so that a sum does not wait for the one before.
  constexpr int kChains = 4;
  constexpr int64_t kStep = kChains * Vector::kWidth;
  Vector most[kChains], sum[kChains];
#pragma GCC unroll 4
  for (int c = 0; c < kChains; ++c) most[c] = sum[c] = Vector::Of(0);
  const int64_t whole = n / kStep * kStep;
  for (int64_t i = 0; i < whole; i += kStep) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) {
      const Vector magnitude = Vector::Load(x + i + c * Vector::kWidth).Abs();
      most[c] = Vector::Max(most[c], magnitude);
      sum[c] = sum[c] + magnitude;
    }
  }
  SIGHTLINE_FOR_VECTORS(i, n - whole) {
    const Vector magnitude = LoadSome(x + whole + i, left_i).Abs();
    most[0] = Vector::Max(most[0], magnitude);
    sum[0] = sum[0] + magnitude;
  }
  const Vector largest = Vector::Max(Vector::Max(most[0], most[1]), Vector::Max(most[2], most[3]));
  return {largest.Most(), ((sum[0] + sum[1]) + (sum[2] + sum[3])).Sum()};
}

// Rows whose largest number is this many times the mean have outliers (normal numbers have four
// to five), and what is this many times the mean is one.
constexpr float kSeldom = 16;
constexpr float kFar = 8;
constexpr float kTiny = 1e-30f;

// Notes the numbers beyond `limit` > 0 in `code`, or, if they are too many, beyond a multiple of
// it; the largest of the others.
inline float TakeOutliers(const float* x, int64_t n, float limit, RowCode* code) {
  for (;;) {
    float most = 0;
    int count = 0;
    for (int64_t i = 0; i < n && count <= kMostOutliers; ++i) {
      const float magnitude = __builtin_fabsf(x[i]);
      if (magnitude <= limit) {
        most = magnitude > most ? magnitude : most;
      } else {
        if (count < kMostOutliers) code->outliers[count].column = static_cast<int32_t>(i);
        ++count;
      }
    }
    code->outlier_count = count;
    if (count <= kMostOutliers) return most;
    limit *= 2;
  }
}

void EncodeInt8(const float* x, int64_t n, int64_t row_bytes, std::byte* row, RowCode* code) {
  const Magnitudes magnitudes = MagnitudesOf(x, n);
  const float mean = magnitudes.sum / static_cast<float>(n);
  float most = magnitudes.most;
  code->outlier_count = 0;
  code->sum = 0;
  // Infinite or no number at all, which integers cannot say: nor may the product.
  if (!(magnitudes.sum <= 3e38f)) {
    code->scale = __builtin_nanf("");
    return Zero(row, row + row_bytes);
  }
  // What is smaller has no inverse, and its mean may be 0.
  if (most >= kTiny && most > kSeldom * mean) most = TakeOutliers(x, n, kFar * mean, code);
  if (most < kTiny) most = 0;
  code->scale = most / 127;
  const Vector inverse = Vector::Of(most == 0 ? 0 : 127 / most), limit = Vector::Of(127);
  int8_t* const out = reinterpret_cast<int8_t*>(row);
  Vector sum = Vector::Of(0);
  int64_t done = 0;
  SIGHTLINE_FOR_VECTORS(i, n) {
    const Vector rounded = (LoadSome(x + i, left_i) * inverse).Rounded();
    const Vector q = Vector::Min(Vector::Max(rounded, Vector::Of(0) - limit), limit);
    q.StoreInt8(out + i);
    sum = sum + q;
    done = i + Vector::kWidth;
  }
  Zero(row + done, row + row_bytes);
  code->sum = static_cast<int32_t>(sum.Sum());
  for (int i = 0; i < code->outlier_count; ++i) {
    Outlier& outlier = code->outliers[i];
    outlier.rest = x[outlier.column] - code->scale * static_cast<float>(out[outlier.column]);
  }
}

}  // namespace
}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_ROW_KERNELS_H_
