// Weights of a linear layer as a kernel reads them.
#ifndef SIGHTLINE_COMMON_KERNELS_PACKED_MATRIX_H_
#define SIGHTLINE_COMMON_KERNELS_PACKED_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/kernels/aligned_buffer.h"
#include "common/kernels/kernels.h"

namespace sightline::kernels {

// outputs x inputs, row after row, and a bias for each output.  Not owned.
struct LinearWeights {
  const float* weights = nullptr;
  const float* bias = nullptr;
  int64_t outputs = 0;
  int64_t inputs = 0;
};

// Bytes of an encoded row.
int64_t RowBytes(const ProductKernel& kernel, int64_t inputs);

// Immutable and thread-safe.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // One or more layers of the same inputs, each beginning with a panel of its own.
  PackedMatrix(const ProductKernel& kernel, const std::vector<LinearWeights>& layers);

  int64_t inputs() const { return inputs_; }
  int64_t row_bytes() const { return units_ * kUnitBytes; }
  int64_t panel_count() const { return panel_count_; }
  // `count` panels from `first` on.
  Panels PanelsFrom(int64_t first, int64_t count) const;
  int64_t bytes() const { return weights_.size() + 8 * panel_count_ * kPanelColumns; }

 private:
  void Pack(const ProductKernel& kernel, const LinearWeights& layer, int64_t first_column);

  int64_t inputs_ = 0;
  int64_t units_ = 0;
  int64_t panel_count_ = 0;
  int32_t zero_point_ = 0;
  AlignedBuffer weights_;
  std::vector<float> column_scales_;
  std::vector<float> bias_;
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_PACKED_MATRIX_H_
