#include "common/kernels/small_products.h"

#include <algorithm>

#include "common/kernels/vector.h"

namespace sightline::kernels {
namespace {

// A tile of sums, one column of `a` and two registers of `b` fill the registers.
constexpr int kTileRows = 6;
constexpr int kTileVectors = 2;
constexpr int64_t kTileColumns = kTileVectors * Vector::kWidth;

int64_t PanelCount(const ProductShape& shape) {
  return (shape.columns + kTileColumns - 1) / kTileColumns;
}

// Panels of kTileColumns columns, each with its rows one after another; zeros behind the last.
void Pack(const ProductShape& shape, const StridedMatrix& b, float* panels) {
  for (int64_t first = 0; first < shape.columns; first += kTileColumns) {
    const int64_t count = std::min(kTileColumns, shape.columns - first);
    for (int64_t k = 0; k < shape.inner; ++k) {
      const float* const from = b.data + k * b.row_step + first * b.column_step;
      for (int64_t j = 0; j < count; ++j) panels[j] = from[j * b.column_step];
      std::fill(panels + count, panels + kTileColumns, 0.0f);
      panels += kTileColumns;
    }
  }
}

template <int R>
void Tile(int64_t inner, const StridedMatrix& a, const float* panel, int64_t columns, float* out,
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
    for (int v = 0; v < kTileVectors; ++v) of_b[v] = Vector::Load(panel + v * Vector::kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vector of_a = Vector::Of(column[r * a.row_step]);
#pragma GCC unroll 8
      for (int v = 0; v < kTileVectors; ++v) sums[r][v] = Vector::Fma(of_a, of_b[v], sums[r][v]);
    }
    column += a.column_step;
    panel += kTileColumns;
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
void TileOf(int64_t rows, int64_t inner, const StridedMatrix& a, const float* panel,
            int64_t columns, float* out, int64_t out_step) {
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
  return PanelCount(shape) * shape.inner * kTileColumns;
}

void MultiplySmall(const ProductShape& shape, const StridedMatrix& a, const StridedMatrix& b,
                   float* work, float* out, int64_t out_step) {
  Pack(shape, b, work);
  for (int64_t panel = 0; panel < PanelCount(shape); ++panel) {
    const int64_t column = panel * kTileColumns;
    const float* const packed = work + column * shape.inner;
    for (int64_t row = 0; row < shape.rows; row += kTileRows) {
      const StridedMatrix from = {a.data + row * a.row_step, a.row_step, a.column_step};
      TileOf(std::min<int64_t>(kTileRows, shape.rows - row), shape.inner, from, packed,
             shape.columns - column, out + row * out_step + column, out_step);
    }
  }
}

}  // namespace sightline::kernels
