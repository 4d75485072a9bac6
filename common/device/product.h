// Products of rows with a layer's weights on a device.
#ifndef SIGHTLINE_COMMON_DEVICE_PRODUCT_H_
#define SIGHTLINE_COMMON_DEVICE_PRODUCT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/device/block.h"

namespace sightline::device {

// out[r][o] = sum over i of in[r][i] weights[o][i] + bias[o], summed as float32; each matrix row by
// row without gaps.  Of rows that nobody reads too: a launch serves all passes of a bucket.
template <typename Number>
struct DeviceProduct {
  const Number* in = nullptr;
  const Number* weights = nullptr;
  const Number* bias = nullptr;
  int rows = 0;
  int inputs = 0;
  int outputs = 0;
  Number* out = nullptr;
};

// What a library for products may take of a device for itself.
inline constexpr int64_t kWorkspaceBytes = 32 << 20;

// The same, one after the other: for tests.
template <typename Number>
struct PlainProduct : DeviceProduct<Number> {
  static constexpr int kThreads = 256;
  static constexpr int kBlocksAtOnce = 2;
  struct Shared {};

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    block.Step([&](int thread) {
      const int64_t end = int64_t{this->rows} * this->outputs;
      const int64_t step = int64_t{block.count()} * kThreads;
      for (int64_t at = int64_t{block.index()} * kThreads + thread; at < end; at += step) {
        const Number* const row = this->in + at / this->outputs * this->inputs;
        const Number* const weights = this->weights + at % this->outputs * this->inputs;
        float sum = 0;
        for (int i = 0; i < this->inputs; ++i) {
          sum = MultiplyAdd(Wide(row[i]), Wide(weights[i]), sum);
        }
        this->out[at] = Narrowed<Number>(Plus(sum, Wide(this->bias[at % this->outputs])));
      }
    });
  }
};

// out[r][q] = sum over i of rows[r][i] queries[q][i], of numbers of float16, summed as float32 in
// whatever order.
struct HalfProduct {
  const uint16_t* rows = nullptr;
  int64_t row_stride = 0;  // numbers from row to row
  int row_count = 0;
  const uint16_t* queries = nullptr;  // one after another
  int query_count = 0;
  int numbers = 0;
  float* out = nullptr;  // row after row
};

struct PlainHalfProduct : HalfProduct {
  static constexpr int kThreads = 256;
  static constexpr int kBlocksAtOnce = 2;
  struct Shared {};

  template <typename Block>
  SIGHTLINE_DEVICE void operator()(Block& block, Shared& /*shared*/) const {
    block.Step([&](int thread) {
      const int64_t end = int64_t{row_count} * query_count;
      const int64_t step = int64_t{block.count()} * kThreads;
      for (int64_t at = int64_t{block.index()} * kThreads + thread; at < end; at += step) {
        const uint16_t* const row = rows + at / query_count * row_stride;
        const uint16_t* const query = queries + at % query_count * numbers;
        float sum = 0;
        for (int i = 0; i < numbers; ++i) {
          sum = MultiplyAdd(Widened(row[i]), Widened(query[i]), sum);
        }
        out[at] = sum;
      }
    });
  }
};

// Products of a device without a library for them.
struct PlainProducts {
  template <typename Device>
  static absl::StatusOr<PlainProducts> Open(Device* /*device*/) {
    return PlainProducts();
  }

  template <typename Device, typename Number>
  static absl::Status Multiply(Device* device, const DeviceProduct<Number>& product) {
    return device->Launch(64, PlainProduct<Number>{product});
  }

  template <typename Device>
  static absl::Status Multiply(Device* device, const HalfProduct& product) {
    return device->Launch(64, PlainHalfProduct{product});
  }
};

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_PRODUCT_H_
