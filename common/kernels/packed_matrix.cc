#include "common/kernels/packed_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace sightline::kernels {
namespace {

int64_t RoundUp(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

int64_t PanelsOf(const LinearWeights& layer) {
  return RoundUp(layer.outputs, kPanelColumns) / kPanelColumns;
}

// Ties to even, as the kernels round.
uint16_t Bfloat16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

}  // namespace

int64_t RowBytes(const ProductKernel& kernel, int64_t inputs) {
  return RoundUp(RoundUp(inputs, kernel.inputs_per_unit) / kernel.inputs_per_unit * kUnitBytes,
                 kRowAlignment);
}

PackedMatrix::PackedMatrix(const ProductKernel& kernel, const std::vector<LinearWeights>& layers)
    : inputs_(layers[0].inputs),
      units_(RowBytes(kernel, inputs_) / kUnitBytes),
      panel_count_(std::accumulate(
          layers.begin(), layers.end(), int64_t{0},
          [](int64_t sum, const LinearWeights& layer) { return sum + PanelsOf(layer); })),
      zero_point_(kernel.zero_point),
      weights_(panel_count_ * kPanelColumns * units_ * kUnitBytes),
      column_scales_(panel_count_ * kPanelColumns, 0.0f),
      bias_(panel_count_ * kPanelColumns, 0.0f) {
  int64_t first_column = 0;
  for (const LinearWeights& layer : layers) {
    Pack(kernel, layer, first_column);
    first_column += PanelsOf(layer) * kPanelColumns;
  }
}

Panels PackedMatrix::PanelsFrom(int64_t first, int64_t count) const {
  const int64_t column = first * kPanelColumns;
  return {weights_.data() + column * units_ * kUnitBytes,
          count,
          units_,
          zero_point_,
          column_scales_.data() + column,
          bias_.data() + column};
}

void PackedMatrix::Pack(const ProductKernel& kernel, const LinearWeights& layer,
                        int64_t first_column) {
  for (int64_t output = 0; output < layer.outputs; ++output) {
    const float* const row = layer.weights + output * layer.inputs;
    const int64_t column = first_column + output;
    std::byte* const panel =
        weights_.data() + column / kPanelColumns * kPanelColumns * units_ * kUnitBytes;
    bias_[column] = layer.bias[output];
    float most = 0;
    for (int64_t k = 0; k < layer.inputs; ++k) most = std::max(most, std::fabs(row[k]));
    const float levels = static_cast<float>(kernel.zero_point - 1);
    // What is smaller has no inverse.
    const float scale = most < 1e-30f ? 0 : most / levels;
    column_scales_[column] = scale;
    for (int64_t k = 0; k < layer.inputs; ++k) {
      std::byte* const unit =
          panel +
          (k / kernel.inputs_per_unit * kPanelColumns + column % kPanelColumns) * kUnitBytes;
      const int64_t part = k % kernel.inputs_per_unit;
      switch (kernel.inputs_per_unit) {
        case 1:
          std::memcpy(unit, &row[k], sizeof(float));
          break;
        case 2: {
          const uint16_t half = Bfloat16(row[k]);
          std::memcpy(unit + 2 * part, &half, sizeof(half));
          break;
        }
        default:
          unit[part] = static_cast<std::byte>(
              kernel.zero_point +
              (scale == 0 ? 0 : static_cast<int>(std::nearbyint(row[k] / scale))));
      }
    }
  }
}

}  // namespace sightline::kernels
