// How rows of float16 and queries lie on a device, so that a warp reads them in whole lines and
// sums in the order of the CPU.
//
// The score of a row of float16 (row_scores.h) is 32 sums, lane l's over the numbers l, l + 32,
// l + 64 ... in that order, then what is left of eights in the first eight of them, then a sum of
// these, then of the numbers that are left.  On a device each sum is a lane's.  Numbers come in
// groups of 8 blocks of 32: lane l's eight of a row's group lie side by side, and those of lane l +
// 1 after them, so that a lane reads 16 bytes at once.  Of a query in float32 the first fours of
// all lanes come before the second ones, for the same reason.  The last group is filled up with
// zeros, which change no sum but -0 to 0.  The numbers beyond the last whole block, the tail, lie
// after that as they were.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_LAYOUT_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_LAYOUT_H_

#include <cstdint>

namespace sightline {

struct DeviceLayout {
  static constexpr int kBlock = 32;         // numbers, one for each lane
  static constexpr int kBlocksOfGroup = 8;  // 16 bytes of float16 for each lane
  static constexpr int kGroup = kBlock * kBlocksOfGroup;
  static constexpr int kFour = 4;

  explicit DeviceLayout(int of_dimension)
      : dimension(of_dimension),
        groups((of_dimension / kBlock + kBlocksOfGroup - 1) / kBlocksOfGroup),
        eights(of_dimension % kBlock / 8),
        rest(of_dimension % 8),
        numbers(groups * kGroup + (of_dimension % kBlock == 0 ? 0 : kBlock)) {}

  // Where a lane's number of a block lies in its group: of a row, and of a query.
  static int PlaceInRow(int lane, int block) { return lane * kBlocksOfGroup + block; }
  static int PlaceInQuery(int lane, int block) {
    return block / kFour * kBlock * kFour + lane * kFour + block % kFour;
  }

  // Write `dimension` numbers to `numbers`.
  void ArrangeRow(const uint16_t* from, uint16_t* to) const { Arrange(PlaceInRow, from, to); }
  void ArrangeQuery(const float* from, float* to) const { Arrange(PlaceInQuery, from, to); }

  int dimension;
  int groups;
  int eights;   // of the tail
  int rest;     // numbers of the tail beyond its eights
  int numbers;  // that a row or a query takes, a multiple of 32

 private:
  template <typename Number>
  void Arrange(int (*place)(int lane, int block), const Number* from, Number* to) const {
    const int whole = dimension / kBlock * kBlock;
    for (int i = 0; i < numbers; ++i) to[i] = 0;
    for (int i = 0; i < whole; ++i) {
      to[i / kGroup * kGroup + place(i % kBlock, i / kBlock % kBlocksOfGroup)] = from[i];
    }
    for (int i = whole; i < dimension; ++i) to[groups * kGroup + i - whole] = from[i];
  }
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_LAYOUT_H_
