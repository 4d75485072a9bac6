// Products of small tiles of bfloat16, which a warp multiplies together: what tensor cores do.
//
//   out (16 x 8, float32) += left (16 x 16) right (16 x 8)
//
// Each lane has a part of every tile, as mma.m16n8k16 of PTX deals them out.  With row = lane / 4
// and column = lane % 4 * 2:
//
//   left    pair 0 has (row, column) and (row, column + 1); pair 1 those of row + 8; pairs 2 and 3
//           the same, 8 columns further
//   right   pair 0 has (column, row) and (column + 1, row); pair 1 the same, 8 rows further
//   out     numbers 0 and 1 are (row, column) and (row, column + 1); 2 and 3 those of row + 8
//
// So what a lane has of two tiles of `out`, side by side, are its four pairs of a left tile.
#ifndef SIGHTLINE_COMMON_DEVICE_TILES_H_
#define SIGHTLINE_COMMON_DEVICE_TILES_H_

#include <cstdint>

#include "common/device/block.h"

namespace sightline::device {

inline constexpr int kTileRows = 16;    // of left and out
inline constexpr int kTileInner = 16;   // columns of left, rows of right
inline constexpr int kTileColumns = 8;  // of right and out

// The first number of a pair is its lower half.
struct LeftTile {
  uint32_t pairs[4];
};

struct RightTile {
  uint32_t pairs[2];
};

struct ProductTile {
  float numbers[4];
};

SIGHTLINE_BOTH int TileRowOf(int lane) {
  return lane / 4;
}

SIGHTLINE_BOTH int TileColumnOf(int lane) {
  return lane % 4 * 2;
}

SIGHTLINE_BOTH uint32_t PairOf(Bfloat16 first, Bfloat16 second) {
  return first.bits | uint32_t{second.bits} << 16;
}

#ifdef __CUDACC__

// Each rounded to the nearest one.
SIGHTLINE_DEVICE uint32_t PairOf(float first, float second) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

// Of an address that 4 divides.
SIGHTLINE_DEVICE uint32_t ReadPair(const Bfloat16* from) {
  return *reinterpret_cast<const uint32_t*>(from);
}

SIGHTLINE_DEVICE void WritePair(uint32_t pair, Bfloat16* to) {
  *reinterpret_cast<uint32_t*>(to) = pair;
}

// A lane's part of the product, which all lanes of a warp ask for together.
SIGHTLINE_DEVICE void MultiplyTiles(const LeftTile& left, const RightTile& right,
                                    ProductTile* out) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(out->numbers[0]), "+f"(out->numbers[1]), "+f"(out->numbers[2]), "+f"(out->numbers[3])
      : "r"(left.pairs[0]), "r"(left.pairs[1]), "r"(left.pairs[2]), "r"(left.pairs[3]),
        "r"(right.pairs[0]), "r"(right.pairs[1]));
}

#else

inline uint32_t PairOf(float first, float second) {
  return PairOf(Narrowed<Bfloat16>(first), Narrowed<Bfloat16>(second));
}

inline uint32_t ReadPair(const Bfloat16* from) {
  return PairOf(from[0], from[1]);
}

inline void WritePair(uint32_t pair, Bfloat16* to) {
  to[0].bits = static_cast<uint16_t>(pair);
  to[1].bits = static_cast<uint16_t>(pair >> 16);
}

// Number `i` of a pair.
inline float OfPair(uint32_t pair, int i) {
  return Wide(Bfloat16{static_cast<uint16_t>(pair >> 16 * i)});
}

// The product of what all lanes have, by indexes of matrices.
inline void MultiplyTiles(const LeftTile (&left)[kLanes], const RightTile (&right)[kLanes],
                          ProductTile* const (&out)[kLanes]) {
  float a[kTileRows][kTileInner], b[kTileInner][kTileColumns];
  for (int lane = 0; lane < kLanes; ++lane) {
    const int row = TileRowOf(lane), column = TileColumnOf(lane);
    for (int i = 0; i < 2; ++i) {
      for (int pair = 0; pair < 4; ++pair) {
        a[row + pair % 2 * 8][column + pair / 2 * 8 + i] = OfPair(left[lane].pairs[pair], i);
      }
      for (int pair = 0; pair < 2; ++pair) {
        b[column + pair * 8 + i][row] = OfPair(right[lane].pairs[pair], i);
      }
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = TileRowOf(lane) + i / 2 * 8, column = TileColumnOf(lane) + i % 2;
      float& sum = out[lane]->numbers[i];
      for (int k = 0; k < kTileInner; ++k) sum += a[row][k] * b[k][column];
    }
  }
}

#endif

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_TILES_H_
