// The layer that makes a network's rows of regions' features: the one product before the blocks
// that is as large as theirs, and on a device computed there (common/kernels/device_linear.h).
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_REGION_LINEAR_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_REGION_LINEAR_H_

#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <memory>

#include "absl/status/status.h"
#include "common/kernels/device_linear.h"
#include "common/models/execution.h"

namespace sightline {

// A Linear, keys weight and bias.
class RegionLinearImpl : public torch::nn::LinearImpl {
 public:
  using LinearImpl::LinearImpl;

  // ... x inputs -> ... x outputs.  On a device without autograd, and throws StatusError
  // (inference.h).
  torch::Tensor forward(const torch::Tensor& features);

  // From now on forward multiplies on the device that `execution` names, in float32 whatever its
  // precision: rows are stored as rerankers' features.  Not while forward is called.
  // As StackDevices::NewLinear.
  absl::Status ComputeOn(const Execution& execution);

 private:
  std::shared_ptr<kernels::DeviceLinear> on_device_;  // null: LibTorch multiplies
};
TORCH_MODULE(RegionLinear);

// Each RegionLinear within `net`, if `execution` names a device.  As ComputeOn.
absl::Status ComputeRegionsOn(const Execution& execution, torch::nn::Module* net);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_REGION_LINEAR_H_
