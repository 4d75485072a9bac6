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

// The first `count` columns of `b`, of `inner` numbers, to a panel, with zeros behind the last.
void PackColumns(int64_t inner, int64_t count, const StridedMatrix& b, float* panel) {
  if (count < kTileColumns) std::fill(panel, panel + inner * kTileColumns, 0.0f);
  // By squares: what they fill of columns that are each in one piece.
  const int64_t squared_columns = b.row_step == 1 ? count / kSquare * kSquare : 0;
  const int64_t squared_rows = inner / kSquare * kSquare;
  for (int64_t j = 0; j < squared_columns; j += kSquare) {
    for (int64_t k = 0; k < squared_rows; k += kSquare) {
      TransposeSquare(b.data + j * b.column_step + k, b.column_step, panel + k * kTileColumns + j,
                      kTileColumns);
    }
  }
  for (int64_t k = 0; k < inner; ++k) {
    const float* const row = b.data + k * b.row_step;
    for (int64_t j = k < squared_rows ? squared_columns : 0; j < count; ++j) {
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
