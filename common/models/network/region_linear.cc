#include "common/models/network/region_linear.h"

#include <ATen/ATen.h>

#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/models/inference.h"

namespace sightline {

torch::Tensor RegionLinearImpl::forward(const torch::Tensor& features) {
  if (on_device_ == nullptr) return LinearImpl::forward(features);
  const at::Tensor rows = features.contiguous();
  std::vector<int64_t> sizes = rows.sizes().vec();
  sizes.back() = weight.size(0);
  const at::Tensor out = at::empty(sizes);
  const absl::Status done = on_device_->Multiply(
      rows.data_ptr<float>(), rows.numel() / weight.size(1), out.data_ptr<float>());
  if (!done.ok()) throw StatusError(done);
  return out;
}

absl::Status RegionLinearImpl::ComputeOn(const Execution& execution) {
  ASSIGN_OR_RETURN(const int device, DeviceNumberOf(execution));
  const kernels::LinearWeights weights = {weight.data_ptr<float>(), bias.data_ptr<float>(),
                                          weight.size(0), weight.size(1)};
  const kernels::DeviceLinearOptions options = {weights.inputs, weights.outputs, execution.passes};
  ASSIGN_OR_RETURN(on_device_, execution.devices->NewLinear(weights, options, device));
  return absl::OkStatus();
}

absl::Status ComputeRegionsOn(const Execution& execution, torch::nn::Module* net) {
  if (execution.on_cpu()) return absl::OkStatus();
  for (const std::shared_ptr<torch::nn::Module>& module : net->modules()) {
    auto* const linear = module->as<RegionLinearImpl>();
    if (linear != nullptr) RETURN_IF_ERROR(linear->ComputeOn(execution));
  }
  return absl::OkStatus();
}

}  // namespace sightline
