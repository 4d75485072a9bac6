// What a stack (device_block_stack.h) has of its blocks on a device.
#ifndef SIGHTLINE_COMMON_KERNELS_DEVICE_BLOCK_WEIGHTS_H_
#define SIGHTLINE_COMMON_KERNELS_DEVICE_BLOCK_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/base/status_macros.h"
#include "common/device/block.h"
#include "common/device/device_array.h"
#include "common/kernels/block_stack.h"

namespace sightline::kernels {

// One or more layers of the same inputs as one.
template <typename Device, typename Number>
struct LinearOnDevice {
  absl::Status Copy(Device* device, const std::vector<LinearWeights>& layers) {
    std::vector<Number> narrow_weights, narrow_bias;
    for (const LinearWeights& layer : layers) {
      Append(layer.weights, layer.outputs * layer.inputs, &narrow_weights);
      Append(layer.bias, layer.outputs, &narrow_bias);
    }
    RETURN_IF_ERROR(weights.ReserveCopy(device, narrow_weights));
    return bias.ReserveCopy(device, narrow_bias);
  }

  device::DeviceArray<Device, Number> weights, bias;

 private:
  static void Append(const float* numbers, int64_t count, std::vector<Number>* to) {
    for (int64_t i = 0; i < count; ++i) to->push_back(device::Narrowed<Number>(numbers[i]));
  }
};

template <typename Device>
struct NormOnDevice {
  // Of `count` numbers.
  absl::Status Copy(Device* device, const NormWeights& norm, int64_t count) {
    RETURN_IF_ERROR(gain.ReserveCopy(device, std::vector<float>(norm.gain, norm.gain + count)));
    return shift.ReserveCopy(device, std::vector<float>(norm.shift, norm.shift + count));
  }

  device::DeviceArray<Device, float> gain, shift;
};

template <typename Device, typename Number>
struct BlockOnDevice {
  absl::Status Copy(Device* device, const BlockWeights& weights) {
    RETURN_IF_ERROR(query_key_value.Copy(device, {weights.query, weights.key, weights.value}));
    RETURN_IF_ERROR(attention_output.Copy(device, {weights.attention_output}));
    RETURN_IF_ERROR(intermediate.Copy(device, {weights.intermediate}));
    RETURN_IF_ERROR(output.Copy(device, {weights.output}));
    const int64_t hidden = weights.output.outputs;
    RETURN_IF_ERROR(attention_norm.Copy(device, weights.attention_norm, hidden));
    return output_norm.Copy(device, weights.output_norm, hidden);
  }

  LinearOnDevice<Device, Number> query_key_value, attention_output, intermediate, output;
  NormOnDevice<Device> attention_norm, output_norm;
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_DEVICE_BLOCK_WEIGHTS_H_
