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
  struct Shared {};

  const int32_t* row_count = nullptr;
  const Number* x = nullptr;
  const Number* residual = nullptr;
  int columns = 0;
  const float* gain = nullptr;
  const float* shift = nullptr;
  float epsilon = 0;
  Number* out = nullptr;

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    ForRows(block, *row_count, [&](int row, auto& warp) {
      const int64_t begin = int64_t{row} * columns;
      const auto added = [&](int i) {
        return device::Plus(device::Wide(x[begin + i]), device::Wide(residual[begin + i]));
      };
      const float scale = 1.0f / static_cast<float>(columns);
      device::PerLane<float> sum, squares;
      warp.Step([&](int lane) {
        sum[lane] = 0;
        for (int i = lane; i < columns; i += device::kLanes) sum[lane] += added(i);
      });
      sum = SumOfLanes(warp, sum);
      warp.Step([&](int lane) {
        const float mean = sum[lane] * scale;
        squares[lane] = 0;
        for (int i = lane; i < columns; i += device::kLanes) {
          const float off = added(i) - mean;
          squares[lane] = device::MultiplyAdd(off, off, squares[lane]);
        }
      });
      squares = SumOfLanes(warp, squares);
      warp.Step([&](int lane) {
        const float mean = sum[lane] * scale;
        const float inverse = 1.0f / device::Root(squares[lane] * scale + epsilon);
        for (int i = lane; i < columns; i += device::kLanes) {
          out[begin + i] = device::Narrowed<Number>(
              device::MultiplyAdd((added(i) - mean) * inverse, gain[i], shift[i]));
        }
      });
    });
  }
};

// x = gelu(x), the exact one, of `columns` numbers a row.
template <typename Number>
struct Gelu {
  static constexpr int kThreads = 256;
  static constexpr int kBlocksAtOnce = 4;
  struct Shared {};

  const int32_t* row_count = nullptr;
  int columns = 0;  // a multiple of kFour
  Number* x = nullptr;

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    constexpr int kFour = 4;
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

// The mean of each sequence's rows.
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

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    ForRows(block, counts->sequences, [&](int sequence, auto& warp) {
      const SequenceRange range = ranges[sequence];
      warp.Step([&](int lane) {
        for (int i = lane; i < columns; i += device::kLanes) {
          const Number* number = rows + int64_t{range.begin} * columns + i;
          float sum = 0;
          for (int row = 0; row < range.length; ++row, number += columns) {
            sum += device::Wide(*number);
          }
          out[int64_t{sequence} * columns + i] = sum / static_cast<float>(range.length);
        }
      });
    });
  }
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_DEVICE_STEPS_H_
