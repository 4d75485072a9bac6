// Inner products, for whatever registers the including file is compiled for.  Internal linkage, as
// vector.h.
//
// A tile of R rows and V registers of queries stays in registers while the numbers pass: each step
// loads V registers, spreads one number of each row over a register, and adds R * V products.  So
// rows are read as they lie, and all that a register holds is another product's.
//
// The numbers pass in stretches, so that a panel's part stays in the L1 cache for all rows; the
// rows come from the L2 cache, where they were fetched to while the rows before were computed.
#ifndef SIGHTLINE_COMMON_KERNELS_INNER_PRODUCT_TILES_H_
#define SIGHTLINE_COMMON_KERNELS_INNER_PRODUCT_TILES_H_

#include <cstdint>

#include "common/kernels/inner_product_kernels.h"
#include "common/kernels/vector.h"

namespace sightline::kernels {
namespace {

// What fits 32 registers of AVX-512 or 16 of AVX2, and keeps two units busy that take four cycles.
#if defined(__AVX512F__)
template <int V>
constexpr int kTileRows = 12;
#else
template <int V>
constexpr int kTileRows = V == 1 ? 12 : 6;
#endif

// Bytes of panels that are in the L1 cache at once, which has 32 KiB or more.
constexpr int64_t kStretchBytes = 24 << 10;
// Numbers of a row between two times that lines are fetched ahead.
constexpr int kStep = 4;
constexpr int kLineFloats = 16;

// A bit for each number of `a` that is not below that of `b`, so also where one is no number.
SIGHTLINE_INLINE uint32_t NotBelow(Vector a, Vector b) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(a.v, b.v, _CMP_NLT_UQ);
#else
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_NLT_UQ)));
#endif
}

template <int kValue>
struct Constant {
  static constexpr int value = kValue;
  constexpr operator int() const { return kValue; }
};

// body(i) for i from kFirst to N - 1, each a Constant: an array that is read in a loop is in
// memory.
template <int N, int kFirst = 0, class Body>
SIGHTLINE_INLINE void Each(const Body& body) {
  if constexpr (kFirst < N) {
    body(Constant<kFirst>());
    Each<N, kFirst + 1>(body);
  }
}
#define SIGHTLINE_INLINE_BODY __attribute__((always_inline))

// V registers of queries, as a stretch of numbers of theirs lies.
struct QueryStretch {
  const float* vectors[2];
  int64_t length;
};

template <int R, int V>
struct Sums {
  Vector v[R][V];

  // The products with number `k`.
  SIGHTLINE_INLINE void Add(const float* rows, int64_t row_stride, const QueryStretch& queries,
                            int64_t k) {
    Vector q[V];
    Each<V>([&](auto c) SIGHTLINE_INLINE_BODY {
      q[c] = Vector::Load(queries.vectors[c] + k * kQueryPanelWidth);
    });
    Each<R>([&](auto r) SIGHTLINE_INLINE_BODY {
      Vector x = Vector::Of(rows[r * row_stride + k]);
      // Once for all V, instead of once for each from memory.
      if (V > 1) asm("" : "+v"(x.v));
      Each<V>([&](auto c) SIGHTLINE_INLINE_BODY { v[r][c] = Vector::Fma(x, q[c], v[r][c]); });
    });
  }
};

// Adds the products with a stretch to `sums`, R * V registers.
template <int R, int V, bool kAhead>
void AddTile(const float* rows, int64_t row_stride, const QueryStretch& queries, bool first,
             const float* ahead, Vector* sums) {
  Sums<R, V> tile;
  Each<R * V>([&](auto i) SIGHTLINE_INLINE_BODY {
    tile.v[i / V][i % V] = first ? Vector::Of(0) : sums[i];
  });
  int64_t k = 0;
  for (; k + kStep <= queries.length; k += kStep) {
    Each<kStep>([&](auto i) SIGHTLINE_INLINE_BODY { tile.Add(rows, row_stride, queries, k + i); });
    if (kAhead) {
      // As many as the rows of the tile have in these numbers.
      constexpr int kLines = (R * kStep + kLineFloats - 1) / kLineFloats;
      Each<kLines>([&](auto i) SIGHTLINE_INLINE_BODY {
        __builtin_prefetch(ahead + i * kLineFloats, /*rw=*/0, /*locality, L2:*/ 2);
      });
      ahead += kLines * kLineFloats;
    }
  }
  for (; k < queries.length; ++k) tile.Add(rows, row_stride, queries, k);
  Each<R * V>([&](auto i) SIGHTLINE_INLINE_BODY { sums[i] = tile.v[i / V][i % V]; });
}

// The same of all rows, tile below tile.
template <int V, bool kAhead>
void AddTiles(const InnerProducts& work, int64_t column, const QueryStretch& queries,
              const float* ahead, Vector* sums) {
  int64_t row = 0;
  const auto add = [&](auto rows) SIGHTLINE_INLINE_BODY {
    constexpr int R = decltype(rows)::value;
    AddTile<R, V, kAhead>(work.rows + row * work.row_stride + column, work.row_stride, queries,
                          column == 0, ahead, sums + row * V);
    row += R;
    ahead += R * queries.length;
  };
  while (work.row_count - row >= kTileRows<V>) {
    add(Constant<kTileRows<V>>());
  }
  while (work.row_count - row >= 3) add(Constant<3>());
  while (row < work.row_count) add(Constant<1>());
}

// Those of a row's products with the queries from `query` on that `mask` names.
__attribute__((noinline)) Reached* Note(Vector products, uint32_t mask, int64_t row, int64_t query,
                                        int64_t query_count, Reached* next) {
  float values[Vector::kWidth];
  products.Store(values);
  for (int i = 0; i < Vector::kWidth && query + i < query_count; ++i) {
    if ((mask >> i & 1) == 0) continue;
    *next++ = {static_cast<int32_t>(row), static_cast<int32_t>(query + i), values[i]};
  }
  return next;
}

// Of V registers of queries from query `first` on.
template <int V>
Reached* FindOf(const InnerProducts& work, int64_t first, Reached* next) {
  constexpr int64_t kStretch = kStretchBytes / (4 * V * Vector::kWidth);
  Vector sums[kMostProductRows * V];
  for (int64_t column = 0; column < work.dimension; column += kStretch) {
    const int64_t left = work.dimension - column;
    QueryStretch queries = {{}, left < kStretch ? left : kStretch};
    for (int v = 0; v < V; ++v) {
      const int64_t query = first + v * Vector::kWidth;
      const int64_t place = query % kQueryPanelWidth;
      queries.vectors[v] =
          work.panels + (query - place) * work.dimension + column * kQueryPanelWidth + place;
    }
    if (first == 0) {
      // A share with each stretch.
      const float* const next_rows =
          work.ahead != nullptr ? work.ahead : work.rows + work.row_count * work.row_stride;
      const float* const ahead = next_rows + work.row_count * column;
      AddTiles<V, true>(work, column, queries, ahead, sums);
    } else {
      AddTiles<V, false>(work, column, queries, work.rows, sums);
    }
  }
  for (int v = 0; v < V; ++v) {
    const int64_t query = first + v * Vector::kWidth;
    const Vector limits = Vector::Load(work.limits + query);
    for (int64_t row = 0; row < work.row_count; ++row) {
      const uint32_t mask = NotBelow(sums[row * V + v], limits);
      if (__builtin_expect(mask == 0, 1)) continue;
      next = Note(sums[row * V + v], mask, row, query, work.query_count, next);
    }
  }
  return next;
}

int64_t FindReached(const InnerProducts& work, Reached* reached) {
  Reached* next = reached;
  int64_t query = 0;
  for (; work.query_count - query > Vector::kWidth; query += 2 * Vector::kWidth) {
    next = FindOf<2>(work, query, next);
  }
  if (query < work.query_count) next = FindOf<1>(work, query, next);
  return next - reached;
}

}  // namespace
}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_INNER_PRODUCT_TILES_H_
