#include "common/models/network/device_executor.h"

#include <ATen/ATen.h>

#include <utility>

#include "common/base/status_macros.h"
#include "common/kernels/device_stack.h"
#include "common/models/device_passes.h"
#include "common/models/inference.h"
#include "common/models/network/block_weights.h"

namespace sightline {
namespace {

using kernels::BlockWeights;
using kernels::DeviceStack;
using kernels::StackReadout;

class DeviceExecutor : public TransformerExecutor {
 public:
  explicit DeviceExecutor(std::unique_ptr<DeviceStack> stack) : stack_(std::move(stack)) {}

  at::Tensor Run(const PackedParts& packed, Readout readout) const override {
    const bool first_only = readout == Readout::kFirstRows;
    return Read(packed, first_only ? StackReadout::kFirstRows : StackReadout::kAllRows);
  }

  at::Tensor RunMeans(const PackedParts& packed) const override {
    return Read(packed, StackReadout::kMeanRows);
  }

 private:
  at::Tensor Read(const PackedParts& packed, StackReadout readout) const {
    const PackedSequences sequences(packed);
    const bool all = readout == StackReadout::kAllRows;
    const at::Tensor out =
        at::empty({all ? sequences.rows() : sequences.view().count, packed.parts[0].columns()});
    const absl::Status done = stack_->Run(sequences.view(), readout, out.data_ptr<float>());
    if (!done.ok()) throw StatusError(done);
    return out;
  }

  const std::unique_ptr<DeviceStack> stack_;
};

// Of a short text or a picture's regions with one: others come seldom enough.
constexpr int64_t kUsualLength = 40;

absl::Status WarmUp(const Execution& execution, bool has_key_bias, DeviceStack* stack) {
  if (!execution.devices->want_warm_up() || !execution.warms_up) return absl::OkStatus();
  for (const StackReadout readout : {StackReadout::kFirstRows, StackReadout::kMeanRows}) {
    RETURN_IF_ERROR(stack->WarmUp(readout, has_key_bias, kUsualLength));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<const TransformerExecutor>> NewDeviceExecutor(
    BertEncoder encoder, const Execution& execution, int device, bool has_key_bias) {
  const BertConfig& config = encoder->config();
  kernels::DeviceStackOptions options =
      StackOptionsOf(ShapeOf(config), config.layer_count, execution.precision);
  options.watch = execution.passes;
  ASSIGN_OR_RETURN(std::unique_ptr<DeviceStack> stack, execution.devices->New(options, device));
  RETURN_IF_ERROR(RunGuarded("copy the weights to a device", [&] {
    RETURN_IF_ERROR(
        TakeBlocks(*encoder, [&](const BlockWeights& weights) { return stack->Add(weights); }));
    return WarmUp(execution, has_key_bias, stack.get());
  }));
  return std::make_unique<DeviceExecutor>(std::move(stack));
}

}  // namespace sightline
