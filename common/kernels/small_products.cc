#include "common/kernels/small_products.h"

#include <algorithm>

#include "common/kernels/vector.h"

namespace sightline::kernels {
namespace {

// A tile of sums, one column of `a` and two registers of `b` fill the registers.
constexpr int kTileRows = 6;
constexpr int kTileVectors = 2;
constexpr int64_t kTileColumns = kTileVectors * Vector::kWidth;

// Up to kTileColumns columns of `b`: number (k, j) is data[k * step + j], and what is behind the
// last column may be read.
struct Panel {
  const float* data;
  int64_t step;
};

// Four columns of four numbers each, from `columns` on and `pitch` apart, to rows of a panel.
void Turn(const float* columns, int64_t pitch, float* rows) {
  __m128 a = _mm_loadu_ps(columns), b = _mm_loadu_ps(columns + pitch);
  __m128 c = _mm_loadu_ps(columns + 2 * pitch), d = _mm_loadu_ps(columns + 3 * pitch);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(rows, a);
  _mm_storeu_ps(rows + kTileColumns, b);
  _mm_storeu_ps(rows + 2 * kTileColumns, c);
  _mm_storeu_ps(rows + 3 * kTileColumns, d);
}

// The first `count` columns of `b`, of `inner` numbers, to a panel, with zeros behind the last.
void PackColumns(int64_t inner, int64_t count, const StridedMatrix& b, float* panel) {
  if (count < kTileColumns) std::fill(panel, panel + inner * kTileColumns, 0.0f);
  // What goes four by four: columns that are each in one piece.
  const int64_t wide = b.row_step == 1 ? count / 4 * 4 : 0, long_part = inner / 4 * 4;
  for (int64_t j = 0; j < wide; j += 4) {
    for (int64_t k = 0; k < long_part; k += 4) {
      Turn(b.data + j * b.column_step + k, b.column_step, panel + k * kTileColumns + j);
    }
  }
  for (int64_t k = 0; k < inner; ++k) {
    const float* const row = b.data + k * b.row_step;
    for (int64_t j = k < long_part ? wide : 0; j < count; ++j) {
      panel[k * kTileColumns + j] = row[j * b.column_step];
    }
  }
}

// Columns from `first` on; in `work`, unless they lie as they are to.
Panel PanelOf(const ProductShape& shape, const StridedMatrix& b, int64_t first, float* work) {
  const int64_t count = std::min(kTileColumns, shape.columns - first);
  const float* const begin = b.data + first * b.column_step;
  if (b.column_step == 1 && count == kTileColumns) return {begin, b.row_step};
  PackColumns(shape.inner, count, {begin, b.row_step, b.column_step}, work);
  return {work, kTileColumns};
}

template <int R>
void Tile(int64_t inner, const StridedMatrix& a, Panel panel, int64_t columns, float* out,
          int64_t out_step) {
  Vector sums[R][kTileVectors];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kTileVectors; ++v) sums[r][v] = Vector::Of(0);
  }
  const float* column = a.data;
  for (int64_t k = 0; k < inner; ++k) {
    Vector of_b[kTileVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kTileVectors; ++v) of_b[v] = Vector::Load(panel.data + v * Vector::kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vector of_a = Vector::Of(column[r * a.row_step]);
#pragma GCC unroll 8
      for (int v = 0; v < kTileVectors; ++v) sums[r][v] = Vector::Fma(of_a, of_b[v], sums[r][v]);
    }
    column += a.column_step;
    panel.data += panel.step;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kTileVectors; ++v) {
      const int64_t left = columns - v * Vector::kWidth;
      float* const to = out + r * out_step + v * Vector::kWidth;
      if (left >= Vector::kWidth) {
        sums[r][v].Store(to);
      } else if (left > 0) {
        sums[r][v].Store(to, left);
      }
    }
  }
}

// Of the first `rows`, kTileRows at most.
void TileOf(int64_t rows, int64_t inner, const StridedMatrix& a, Panel panel, int64_t columns,
            float* out, int64_t out_step) {
  switch (rows) {
    case 1:
      return Tile<1>(inner, a, panel, columns, out, out_step);
    case 2:
      return Tile<2>(inner, a, panel, columns, out, out_step);
    case 3:
      return Tile<3>(inner, a, panel, columns, out, out_step);
    case 4:
      return Tile<4>(inner, a, panel, columns, out, out_step);
    case 5:
      return Tile<5>(inner, a, panel, columns, out, out_step);
    default:
      return Tile<kTileRows>(inner, a, panel, columns, out, out_step);
  }
}

}  // namespace

int64_t SmallProductFloats(const ProductShape& shape) {
  return shape.inner * kTileColumns;
}

void MultiplySmall(const ProductShape& shape, const StridedMatrix& a, const StridedMatrix& b,
                   float* work, float* out, int64_t out_step) {
  for (int64_t column = 0; column < shape.columns; column += kTileColumns) {
    const Panel panel = PanelOf(shape, b, column, work);
    for (int64_t row = 0; row < shape.rows; row += kTileRows) {
      const StridedMatrix from = {a.data + row * a.row_step, a.row_step, a.column_step};
      TileOf(std::min<int64_t>(kTileRows, shape.rows - row), shape.inner, from, panel,
             shape.columns - column, out + row * out_step + column, out_step);
    }
  }
}

}  // namespace sightline::kernels
