// Attention of one head, for whatever registers the including file is compiled for.  Internal
// linkage, as vector.h.
#ifndef SIGHTLINE_COMMON_KERNELS_ATTENTION_H_
#define SIGHTLINE_COMMON_KERNELS_ATTENTION_H_

#include <cstddef>
#include <cstdint>

#include "common/kernels/kernels.h"
#include "common/kernels/product.h"
#include "common/kernels/row_kernels.h"
#include "common/kernels/vector.h"

namespace sightline::kernels {
namespace {

SIGHTLINE_INLINE int64_t WholeVectors(int64_t n) {
  return (n + Vector::kWidth - 1) / Vector::kWidth * Vector::kWidth;
}

SIGHTLINE_INLINE const std::byte* Bytes(const float* p) {
  return reinterpret_cast<const std::byte*>(p);
}

// out (rows x columns, whole vectors) = a (rows x inner) times b (inner x columns).
// rows <= kTileRows.  V vectors at once, and of what is then left as many as there are.
template <int V = kTileVectors>
inline void MultiplySmall(const float* a, int64_t a_stride, int64_t rows, const float* b,
                          int64_t b_stride, int64_t inner, int64_t columns, float* out,
                          int64_t out_stride) {
  constexpr int64_t kColumns = V * Vector::kWidth;
  for (; columns >= kColumns; columns -= kColumns, b += kColumns, out += kColumns) {
    TileOf<Float32Dot, V>(
        rows, Bytes(a), 4 * a_stride, Bytes(b), 4 * b_stride, inner,
        [&](int r, int v, Vector sum) { sum.Store(out + r * out_stride + v * Vector::kWidth); });
  }
  if constexpr (V > 1) {
    MultiplySmall<V - 1>(a, a_stride, rows, b, b_stride, inner, columns, out, out_stride);
  }
}

// out[d][j] = rows[j][d]; columns from `rows` to `stride` are zero.
inline void Transpose(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float* out,
                      int64_t stride) {
  const int64_t square_rows = rows / kSquare * kSquare;
  const int64_t square_columns = columns / kSquare * kSquare;
  for (int64_t j = 0; j < square_rows; j += kSquare) {
    for (int64_t d = 0; d < square_columns; d += kSquare) {
      TransposeSquare(in + j * in_stride + d, in_stride, out + d * stride + j, stride);
    }
  }
  for (int64_t d = 0; d < columns; ++d) {
    for (int64_t j = d < square_columns ? square_rows : 0; j < rows; ++j) {
      out[d * stride + j] = in[j * in_stride + d];
    }
    for (int64_t j = rows; j < stride; ++j) out[d * stride + j] = 0;
  }
}

// softmax(scale * scores + bias) of n numbers, zero from there to whole vectors.
inline void Softmax(float* scores, int64_t n, float scale, const float* bias) {
  Vector most = Vector::Of(-3e38f);
  SIGHTLINE_FOR_VECTORS(i, n) {
    Vector x = Vector::Load(scores + i) * Vector::Of(scale);
    if (bias != nullptr) x = x + LoadSome(bias + i, left_i);
    if (left_i < Vector::kWidth) x = x.FirstOr(left_i, Vector::Of(-3e38f));
    x.Store(scores + i);
    most = Vector::Max(most, x);
  }
  const Vector top = Vector::Of(most.Most());
  Vector sum = Vector::Of(0);
  SIGHTLINE_FOR_VECTORS(i, n) {
    Vector e = ExpOfNegative(Vector::Load(scores + i) - top);
    if (left_i < Vector::kWidth) e = e.FirstOr(left_i, Vector::Of(0));
    e.Store(scores + i);
    sum = sum + e;
  }
  const Vector inverse = Vector::Of(1 / sum.Sum());
  SIGHTLINE_FOR_VECTORS(i, n)(Vector::Load(scores + i) * inverse).Store(scores + i);
}

void Attend(const Attention& attention) {
  const Attention& a = attention;
  const int64_t keys = WholeVectors(a.length), width = WholeVectors(a.head_size);
  float* const transposed = a.scratch;                    // head_size x keys
  float* const scores = transposed + a.head_size * keys;  // kTileRows x keys
  float* const seen = scores + kTileRows * keys;          // kTileRows x width
  float* const padded = seen + kTileRows * width;         // length x width, where heads are narrow
  Transpose(a.keys, a.key_stride, a.length, a.head_size, transposed, keys);
  const float* values = a.values;
  int64_t value_stride = a.key_stride;
  if (width != a.head_size) {
    for (int64_t j = 0; j < a.length; ++j) {
      for (int64_t d = 0; d < width; ++d) {
        padded[j * width + d] = d < a.head_size ? a.values[j * a.key_stride + d] : 0;
      }
    }
    values = padded;
    value_stride = width;
  }
  for (int64_t row = 0; row < a.query_count; row += kTileRows) {
    const int64_t rows = a.query_count - row < kTileRows ? a.query_count - row : kTileRows;
    MultiplySmall(a.queries + row * a.query_stride, a.query_stride, rows, transposed, keys,
                  a.head_size, keys, scores, keys);
    for (int64_t r = 0; r < rows; ++r) Softmax(scores + r * keys, a.length, a.scale, a.key_bias);
    MultiplySmall(scores, keys, rows, values, value_stride, a.length, width, seen, width);
    for (int64_t r = 0; r < rows; ++r) {
      float* const out = a.out + (row + r) * a.out_stride;
      SIGHTLINE_FOR_VECTORS(d, a.head_size) {
        StoreSome(Vector::Load(seen + r * width + d), out + d, left_d);
      }
    }
  }
}

constexpr StepKernels kSteps = {&Attend, &AddAndNorm};

}  // namespace
}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_ATTENTION_H_
