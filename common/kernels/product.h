// The product of rows and packed weights, for whatever registers the including file is compiled
// for.  Internal linkage, as vector.h.
//
// A tile of R rows and V vectors of columns stays in registers while all units pass: each step
// loads V vectors of weights, spreads one unit of each row over a register, and adds R * V
// products.
#ifndef SIGHTLINE_COMMON_KERNELS_PRODUCT_H_
#define SIGHTLINE_COMMON_KERNELS_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "common/kernels/kernels.h"
#include "common/kernels/vector.h"

namespace sightline::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kTileRows = 6;
constexpr int kTileVectors = 4;
#else
constexpr int kTileRows = 6;
constexpr int kTileVectors = 2;
#endif
constexpr int64_t kVectorBytes = 4 * Vector::kWidth;
constexpr int64_t kUnitOfPanel = kUnitBytes * kPanelColumns;

SIGHTLINE_INLINE int32_t UnitAt(const std::byte* p) {
  int32_t unit;
  __builtin_memcpy(&unit, p, sizeof(unit));
  return unit;
}

// Dot: one step in one precision.
//   Weights, Unit, Sum   registers
//   Sum Zero(); Weights LoadWeights(const std::byte*); Unit Spread(const std::byte*);
//   Sum Step(Sum, Weights, Unit)
struct Float32Dot {
  using Weights = Vector;
  using Unit = Vector;
  using Sum = Vector;
  static SIGHTLINE_INLINE Sum Zero() { return Vector::Of(0); }
  static SIGHTLINE_INLINE Weights LoadWeights(const std::byte* p) {
    return Vector::Load(reinterpret_cast<const float*>(p));
  }
  static SIGHTLINE_INLINE Unit Spread(const std::byte* p) {
    return Vector::Of(*reinterpret_cast<const float*>(p));
  }
  static SIGHTLINE_INLINE Sum Step(Sum sum, Weights weights, Unit unit) {
    return Vector::Fma(unit, weights, sum);
  }
};

// A register of integers, of which Vector::kWidth sums are one.
#if defined(__AVX512F__)
using Integers = __m512i;
SIGHTLINE_INLINE Integers LoadIntegers(const std::byte* p) {
  return _mm512_loadu_si512(p);
}
SIGHTLINE_INLINE Integers IntegersOf(int32_t x) {
  return _mm512_set1_epi32(x);
}
SIGHTLINE_INLINE Vector DifferenceOf(Integers a, Integers b) {
  return {_mm512_cvtepi32_ps(_mm512_sub_epi32(a, b))};
}
#else
using Integers = __m256i;
SIGHTLINE_INLINE Integers LoadIntegers(const std::byte* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
SIGHTLINE_INLINE Integers IntegersOf(int32_t x) {
  return _mm256_set1_epi32(x);
}
SIGHTLINE_INLINE Vector DifferenceOf(Integers a, Integers b) {
  return {_mm256_cvtepi32_ps(_mm256_sub_epi32(a, b))};
}
#endif

// Of int8 all but Step, which is the instruction.
struct Int8Dot {
  using Weights = Integers;
  using Unit = Integers;
  using Sum = Integers;
  static SIGHTLINE_INLINE Sum Zero() { return IntegersOf(0); }
  static SIGHTLINE_INLINE Weights LoadWeights(const std::byte* p) { return LoadIntegers(p); }
  static SIGHTLINE_INLINE Unit Spread(const std::byte* p) { return IntegersOf(UnitAt(p)); }
};

// Without VNNI: two products of a weight of 7 bits and an input of 8 fit 16 bits with their sign.
#if defined(__AVX512BW__)
struct PairsDot : Int8Dot {
  static SIGHTLINE_INLINE Sum Step(Sum sum, Weights weights, Unit unit) {
    const Integers pairs = _mm512_maddubs_epi16(weights, unit);
    return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
  }
};
#else
struct PairsDot : Int8Dot {
  static SIGHTLINE_INLINE Sum Step(Sum sum, Weights weights, Unit unit) {
    const Integers pairs = _mm256_maddubs_epi16(weights, unit);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};
#endif

// finish(r, v, sum) takes each register.
template <class Dot, int R, int V, class Finish>
SIGHTLINE_INLINE void Tile(const std::byte* rows, int64_t row_bytes, const std::byte* weights,
                           int64_t weight_stride, int64_t units, const Finish& finish) {
  typename Dot::Sum sums[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sums[r][v] = Dot::Zero();
  }
  for (int64_t u = 0; u < units; ++u) {
    typename Dot::Weights w[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) w[v] = Dot::LoadWeights(weights + v * kVectorBytes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const typename Dot::Unit unit = Dot::Spread(rows + r * row_bytes);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sums[r][v] = Dot::Step(sums[r][v], w[v], unit);
    }
    rows += kUnitBytes;
    weights += weight_stride;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) finish(r, v, sums[r][v]);
  }
}

// Of `row_count` <= kTileRows rows.
template <class Dot, int V, class Finish>
SIGHTLINE_INLINE void TileOf(int64_t row_count, const std::byte* rows, int64_t row_bytes,
                             const std::byte* weights, int64_t weight_stride, int64_t units,
                             const Finish& finish) {
  switch (row_count) {
    case 1:
      return Tile<Dot, 1, V>(rows, row_bytes, weights, weight_stride, units, finish);
    case 2:
      return Tile<Dot, 2, V>(rows, row_bytes, weights, weight_stride, units, finish);
    case 3:
      return Tile<Dot, 3, V>(rows, row_bytes, weights, weight_stride, units, finish);
    case 4:
      return Tile<Dot, 4, V>(rows, row_bytes, weights, weight_stride, units, finish);
    case 5:
      return Tile<Dot, 5, V>(rows, row_bytes, weights, weight_stride, units, finish);
    default:
      return Tile<Dot, 6, V>(rows, row_bytes, weights, weight_stride, units, finish);
  }
}

// What a product's sums become: f(x + bias).
SIGHTLINE_INLINE void Finish(const Product& product, int64_t row, int64_t column, Vector x) {
  x = x + Vector::Load(product.panels.bias + column);
  if (product.gelu) x = Gelu(x);
  x.Store(product.out + row * product.out_stride + column);
}

// x = scale * column scale * (sum - zero point * sum of the row), and what outliers add.
// weights: of the first unit of these columns.
SIGHTLINE_INLINE Vector FromIntegers(const Product& product, const RowCode& code, int64_t column,
                                     Vector sum, const std::byte* weights) {
  const Panels& panels = product.panels;
  Vector x = sum * Vector::Of(code.scale);
  for (int i = 0; i < code.outlier_count; ++i) {
    const Outlier& outlier = code.outliers[i];
    const std::byte* unit = weights + outlier.column / 4 * kUnitOfPanel;
    const Vector w = Vector::OfByte(reinterpret_cast<const uint8_t*>(unit), outlier.column % 4) -
                     Vector::Of(static_cast<float>(panels.zero_point));
    x = Vector::Fma(w, Vector::Of(outlier.rest), x);
  }
  return x * Vector::Load(panels.column_scales + column);
}

// All tiles of a product; finish(row, column, sum, weights) takes each register of sums, `weights`
// being the first unit of its columns.
template <class Dot, class Finish>
SIGHTLINE_INLINE void ForTiles(const Product& product, const Finish& finish) {
  const EncodedRows& rows = product.rows;
  const int64_t panel_bytes = product.panels.units * kUnitOfPanel;
  constexpr int64_t kTileColumns = kTileVectors * Vector::kWidth;
  for (int64_t first = 0; first < product.panels.count * kPanelColumns; first += kTileColumns) {
    const std::byte* const weights = product.panels.bytes + first / kPanelColumns * panel_bytes +
                                     first % kPanelColumns * kUnitBytes;
    for (int64_t row = 0; row < rows.count; row += kTileRows) {
      TileOf<Dot, kTileVectors>(
          rows.count - row, rows.bytes + row * rows.row_bytes, rows.row_bytes, weights,
          kUnitOfPanel, product.panels.units, [&](int r, int v, typename Dot::Sum sum) {
            finish(row + r, first + v * Vector::kWidth, sum, weights + v * kVectorBytes);
          });
    }
  }
}

template <class Dot>
void MultiplyFloats(const Product& product) {
  ForTiles<Dot>(product, [&](int64_t row, int64_t column, Vector sum, const std::byte*) {
    Finish(product, row, column, sum);
  });
}

template <class Dot>
void MultiplyInt8(const Product& product) {
  ForTiles<Dot>(product, [&](int64_t row, int64_t column, Integers sum, const std::byte* weights) {
    const RowCode& code = product.rows.codes[row];
    const Vector exact = DifferenceOf(sum, IntegersOf(product.panels.zero_point * code.sum));
    Finish(product, row, column, FromIntegers(product, code, column, exact, weights));
  });
}

// What the compiler then neither foresees nor finds unused.
template <class Register>
SIGHTLINE_INLINE void Touch(Register* x) {
  asm volatile("" : "+v"(*x));
}
SIGHTLINE_INLINE void Touch(Vector* x) {
  asm volatile("" : "+v"(x->v));
}

template <class Dot, int kInputsPerUnit>
int64_t Exercise(int64_t rounds) {
  constexpr int kSums = 12;  // enough that none waits for itself
  alignas(64) const std::byte zeros[64] = {};
  typename Dot::Weights weights = Dot::LoadWeights(zeros);
  typename Dot::Unit unit = Dot::Spread(zeros);
  typename Dot::Sum sums[kSums];
  Touch(&weights);
  Touch(&unit);
#pragma GCC unroll 12
  for (int s = 0; s < kSums; ++s) {
    sums[s] = Dot::Zero();
    Touch(&sums[s]);
  }
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int s = 0; s < kSums; ++s) sums[s] = Dot::Step(sums[s], weights, unit);
  }
#pragma GCC unroll 12
  for (int s = 0; s < kSums; ++s) Touch(&sums[s]);
  return rounds * kSums * Vector::kWidth * kInputsPerUnit * 2;
}

}  // namespace
}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_PRODUCT_H_
