#include "common/models/network/executor.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/kernels/cpu.h"
#include "common/kernels/kernel_choice.h"
#include "common/models/inference.h"
#include "common/models/network/autocast.h"
#include "common/models/network/device_executor.h"
#include "common/models/network/packed_executor.h"

namespace sightline {
namespace {

using kernels::KernelFor;
using kernels::ThisCpu;

absl::Status NoExecutor(const Execution& execution) {
  std::vector<std::string> known;
  for (const std::string& precision : PrecisionsOfThisCpu()) {
    known.push_back(absl::StrCat(precision, " on cpu"));
  }
  if (execution.devices != nullptr) {
    for (const char* precision : kernels::kStackPrecisions) {
      known.push_back(absl::StrCat(precision, " on devices"));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("nothing computes in ", execution.precision, " on ", execution.device,
                   "; this machine (", NamesOf(ThisCpu()), ") has ", absl::StrJoin(known, ", ")));
}

}  // namespace

std::vector<std::string> PrecisionsOfThisCpu() {
  std::vector<std::string> precisions;
  for (const kernels::ProductKernel* kernel : FastestKernels(ThisCpu())) {
    precisions.push_back(kernel->precision);
  }
  return precisions;
}

at::Tensor TransformerExecutor::RunAt(const PackedParts& packed,
                                      const std::vector<int64_t>& rows) const {
  const at::Tensor all = Run(packed, Readout::kAllRows);
  return all.index_select(0, at::tensor(rows, at::kLong).to(all.device()));
}

at::Tensor TransformerExecutor::RunMeans(const PackedParts& packed) const {
  return MeanOfEach(Run(packed, Readout::kAllRows), packed.lengths);
}

absl::StatusOr<TensorGate> GateOf(const Execution& execution) {
  RETURN_IF_ERROR(kernels::CheckCpuLimit());
  if (!execution.on_cpu() && !DeviceNumberOf(execution).ok()) return NoExecutor(execution);
  return TensorGate(at::kCPU);
}

absl::StatusOr<TensorGate> TorchGateOf(const Execution& execution) {
  ASSIGN_OR_RETURN(TensorGate gate, GateOf(execution));
  if (execution.on_cpu() || !LibTorchHasCuda()) return gate;
  ASSIGN_OR_RETURN(const int number, DeviceNumberOf(execution));
  UseFloat32OnDevices();
  return TensorGate(at::Device(at::kCUDA, static_cast<at::DeviceIndex>(number)), execution.passes);
}

absl::StatusOr<std::unique_ptr<const TransformerExecutor>> NewExecutor(BertEncoder encoder,
                                                                       const Execution& execution,
                                                                       ComputePool* pool,
                                                                       bool has_key_bias) {
  if (const auto device = DeviceNumberOf(execution); !execution.on_cpu() && device.ok()) {
    return NewDeviceExecutor(std::move(encoder), execution, *device, has_key_bias);
  }
  const kernels::ProductKernel* const kernel = KernelFor(execution.precision, ThisCpu());
  if (!execution.on_cpu() || kernel == nullptr) return NoExecutor(execution);
  std::unique_ptr<const TransformerExecutor> executor;
  RETURN_IF_ERROR(RunGuarded("pack the weights", [&] {
    executor = NewPackedExecutor(std::move(encoder), *kernel, pool);
    return absl::OkStatus();
  }));
  return executor;
}

absl::Status CheckUnchosenPrecision(const Execution& execution) {
  if (execution.precision == Execution().precision) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a model without transformer blocks computes in ",
                                                 Execution().precision, " alone, not in ",
                                                 execution.precision));
}

}  // namespace sightline
