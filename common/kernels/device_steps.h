// The steps of a transformer's blocks on a device, but for the products (device_products.h): what
// block_stack.h has for a CPU.  `Number` is what rows are kept as between the steps, float or
// Bfloat16; within a step everything is float32.
//
// How much a pass has of anything lies on the device, so that the same launches serve every pass of
// a bucket: what they are asked for beyond that they leave alone.
#ifndef SIGHTLINE_COMMON_KERNELS_DEVICE_STEPS_H_
#define SIGHTLINE_COMMON_KERNELS_DEVICE_STEPS_H_

#include <cstdint>

#include "common/base/dtype.h"
#include "common/device/block.h"

namespace sightline::kernels {

struct PassCounts {
  int32_t rows = 0;
  int32_t sequences = 0;
  int32_t tiles = 0;
};

// Where a row of the pass lies among what was copied to the device, and as what.
struct RowSource {
  int64_t offset = 0;  // bytes; a multiple of the numbers' size
  float scale = 1;     // of int8
  int32_t dtype = 0;   // a Dtype
};

struct SequenceRange {
  int32_t begin = 0;  // its first row
  int32_t length = 0;
};

// Queries that a block of threads answers: of a sequence those from `first` on.
struct QueryTile {
  int32_t sequence = 0;
  int32_t first = 0;
};

// Rows that a block of warps has in each of its turns, one a warp.
inline constexpr int kRowThreads = 256;
inline constexpr int kRowsOfBlock = kRowThreads / device::kLanes;

// The sum of all lanes, in all lanes.
template <typename Warp>
SIGHTLINE_DEVICE device::PerLane<float> SumOfLanes(Warp& warp, device::PerLane<float> own) {
  for (int bit = device::kLanes / 2; bit > 0; bit /= 2) {
    const device::PerLane<float> other = warp.Xor(own, bit);
    warp.Step([&](int lane) { own[lane] = device::Plus(own[lane], other[lane]); });
  }
  return own;
}

// Each row of a pass once: `work(row, warp)`.
template <typename Block, typename Work>
SIGHTLINE_DEVICE void ForRows(Block& block, int rows, const Work& work) {
  block.Warps([&](auto& warp) {
    for (int row = block.index() * kRowsOfBlock + warp.index(); row < rows;
         row += block.count() * kRowsOfBlock) {
      work(row, warp);
    }
  });
}

// What a pass reads, as `Number`.
template <typename Number>
struct ReadSources {
  static constexpr int kThreads = kRowThreads;
  static constexpr int kBlocksAtOnce = 2;
  struct Shared {};

  const PassCounts* counts = nullptr;
  const RowSource* sources = nullptr;  // of each row
  const char* bytes = nullptr;
  int columns = 0;
  Number* out = nullptr;

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    ForRows(block, counts->rows, [&](int row, auto& warp) {
      warp.Step([&](int lane) {
        const RowSource source = sources[row];
        for (int i = lane; i < columns; i += device::kLanes) {
          out[int64_t{row} * columns + i] = device::Narrowed<Number>(NumberOf(source, i));
        }
      });
    });
  }

 private:
  SIGHTLINE_DEVICE float NumberOf(const RowSource& source, int i) const {
    const char* const row = bytes + source.offset;
    switch (static_cast<Dtype>(source.dtype)) {
      case Dtype::kFloat16:
        return device::Widened(reinterpret_cast<const uint16_t*>(row)[i]);
      case Dtype::kInt8:
        return device::Times(reinterpret_cast<const int8_t*>(row)[i], source.scale);
      default:
        return reinterpret_cast<const float*>(row)[i];
    }
  }
};

// The first row of each sequence.
template <typename Number>
struct TakeFirstRows {
  static constexpr int kThreads = kRowThreads;
  static constexpr int kBlocksAtOnce = 2;
  struct Shared {};

  const PassCounts* counts = nullptr;
  const SequenceRange* ranges = nullptr;
  const Number* rows = nullptr;
  int columns = 0;
  Number* out = nullptr;

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    ForRows(block, counts->sequences, [&](int sequence, auto& warp) {
      const Number* const from = rows + int64_t{ranges[sequence].begin} * columns;
      warp.Step([&](int lane) {
        for (int i = lane; i < columns; i += device::kLanes) {
          out[int64_t{sequence} * columns + i] = from[i];
        }
      });
    });
  }
};

// out = LayerNorm(x + residual), row by row; `out` may be either.
template <typename Number>
struct AddAndNorm {
  static constexpr int kThreads = kRowThreads;
  static constexpr int kBlocksAtOnce = 2;
  static constexpr int kFour = 4;
  // Fours that a lane keeps of a row.
  static constexpr int kFours = 8;
  static constexpr int kMostColumns = kFours * kFour * device::kLanes;
  struct Shared {};

  const int32_t* row_count = nullptr;
  const Number* x = nullptr;
  const Number* residual = nullptr;
  int columns = 0;  // a multiple of kFour, at most kMostColumns
  const float* gain = nullptr;
  const float* shift = nullptr;
  float epsilon = 0;
  Number* out = nullptr;

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    ForRows(block, *row_count, [&](int row, auto& warp) {
      const int64_t begin = int64_t{row} * columns;
      device::PerLane<Own> own;
      device::PerLane<float> sum, squares;
      warp.Step([&](int lane) { sum[lane] = Read(begin, lane, &own[lane]); });
      sum = SumOfLanes(warp, sum);
      warp.Step([&](int lane) {
        squares[lane] = Centre(sum[lane] / static_cast<float>(columns), lane, &own[lane]);
      });
      squares = SumOfLanes(warp, squares);
      warp.Step([&](int lane) {
        const float variance = squares[lane] / static_cast<float>(columns);
        Write(begin, lane, 1.0f / device::Root(variance + epsilon), own[lane]);
      });
    });
  }

 private:
  // A lane's numbers of a row.
  struct Own {
    float numbers[kFours][kFour];
  };

  SIGHTLINE_DEVICE static int PlaceOf(int lane, int four) {
    return (four * device::kLanes + lane) * kFour;
  }

  // Their sum; zeros beyond the row's end.
  SIGHTLINE_DEVICE float Read(int64_t begin, int lane, Own* own) const {
    float sum = 0;
    SIGHTLINE_UNROLL
    for (int four = 0; four < kFours; ++four) {
      const int at = PlaceOf(lane, four);
      float a[kFour] = {}, b[kFour] = {};
      if (at < columns) {
        device::ReadFour(x + begin + at, a);
        device::ReadFour(residual + begin + at, b);
      }
      SIGHTLINE_UNROLL
      for (int i = 0; i < kFour; ++i) {
        own->numbers[four][i] = device::Plus(a[i], b[i]);
        sum = device::Plus(sum, own->numbers[four][i]);
      }
    }
    return sum;
  }

  // Takes off the mean; the sum of squares.
  SIGHTLINE_DEVICE float Centre(float mean, int lane, Own* own) const {
    float squares = 0;
    SIGHTLINE_UNROLL
    for (int four = 0; four < kFours; ++four) {
      if (PlaceOf(lane, four) >= columns) continue;
      SIGHTLINE_UNROLL
      for (int i = 0; i < kFour; ++i) {
        float& number = own->numbers[four][i];
        number = device::Plus(number, -mean);
        squares = device::MultiplyAdd(number, number, squares);
      }
    }
    return squares;
  }

  SIGHTLINE_DEVICE void Write(int64_t begin, int lane, float inverse, const Own& own) const {
    SIGHTLINE_UNROLL
    for (int four = 0; four < kFours; ++four) {
      const int at = PlaceOf(lane, four);
      if (at >= columns) continue;
      float gains[kFour], shifts[kFour], numbers[kFour];
      device::ReadFour(gain + at, gains);
      device::ReadFour(shift + at, shifts);
      SIGHTLINE_UNROLL
      for (int i = 0; i < kFour; ++i) {
        numbers[i] = device::MultiplyAdd(own.numbers[four][i] * inverse, gains[i], shifts[i]);
      }
      device::WriteFour(numbers, out + begin + at);
    }
  }
};

// x = gelu(x), the exact one, of `columns` numbers a row.
template <typename Number>
struct Gelu {
  static constexpr int kThreads = 256;
  static constexpr int kBlocksAtOnce = 4;
  static constexpr int kFour = 4;
  struct Shared {};

  const int32_t* row_count = nullptr;
  int columns = 0;  // a multiple of kFour
  Number* x = nullptr;

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    const int64_t end = int64_t{*row_count} * columns;
    block.Step([&](int thread) {
      const int64_t step = int64_t{block.count()} * kThreads * kFour;
      for (int64_t i = (int64_t{block.index()} * kThreads + thread) * kFour; i < end; i += step) {
        float numbers[kFour];
        device::ReadFour(x + i, numbers);
        SIGHTLINE_UNROLL
        for (int j = 0; j < kFour; ++j) numbers[j] = device::Gelu(numbers[j]);
        device::WriteFour(numbers, x + i);
      }
    });
  }
};

// What somebody reads of the last rows, as float32.
template <typename Number>
struct WidenRows {
  static constexpr int kThreads = kRowThreads;
  static constexpr int kBlocksAtOnce = 2;
  struct Shared {};

  const int32_t* row_count = nullptr;
  const Number* rows = nullptr;
  int columns = 0;
  float* out = nullptr;

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    ForRows(block, *row_count, [&](int row, auto& warp) {
      warp.Step([&](int lane) {
        for (int i = lane; i < columns; i += device::kLanes) {
          out[int64_t{row} * columns + i] = device::Wide(rows[int64_t{row} * columns + i]);
        }
      });
    });
  }
};

// The mean of each sequence's rows.  A warp has 32 columns of a sequence.
template <typename Number>
struct MeanRows {
  static constexpr int kThreads = kRowThreads;
  static constexpr int kBlocksAtOnce = 2;
  struct Shared {};

  const PassCounts* counts = nullptr;
  const SequenceRange* ranges = nullptr;
  const Number* rows = nullptr;
  int columns = 0;
  float* out = nullptr;

  SIGHTLINE_BOTH static int WarpsOf(int columns) {
    return (columns + device::kLanes - 1) / device::kLanes;
  }

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    const int warps = WarpsOf(columns);
    ForRows(block, counts->sequences * warps, [&](int piece, auto& warp) {
      const int sequence = piece / warps;
      const SequenceRange range = ranges[sequence];
      warp.Step([&](int lane) {
        const int column = piece % warps * device::kLanes + lane;
        if (column >= columns) return;
        const Number* number = rows + int64_t{range.begin} * columns + column;
        float sum = 0;
        for (int row = 0; row < range.length; ++row, number += columns) {
          sum += device::Wide(*number);
        }
        out[int64_t{sequence} * columns + column] = sum / static_cast<float>(range.length);
      });
    });
  }
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_DEVICE_STEPS_H_
