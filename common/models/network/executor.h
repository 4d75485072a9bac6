// How a trained stack of transformer blocks is run.  The family decides what goes in and what
// becomes of the result; which executor there is for a device and a precision is decided here.
//
// Includes torch: only .cc files of common/models and common/training, and headers that say the
// same, include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_EXECUTOR_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_EXECUTOR_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/compute_pool.h"
#include "common/models/execution.h"
#include "common/models/network/packing.h"
#include "common/models/network/tensor_gate.h"
#include "common/models/network/transformer.h"

namespace sightline {

// Thread-safe.
class TransformerExecutor {
 public:
  virtual ~TransformerExecutor() = default;
  // See BertEncoderImpl::ForwardPacked; no autograd.  At least one sequence.  Throws StatusError
  // (inference.h).
  virtual at::Tensor Run(const PackedParts& packed, Readout readout) const = 0;

  // Of all rows those of these numbers: BertEncoderImpl::ForwardPackedAt.
  virtual at::Tensor RunAt(const PackedParts& packed, const std::vector<int64_t>& rows) const;

  // Mean of the last layer's rows of each sequence: B x H.
  virtual at::Tensor RunMeans(const PackedParts& packed) const;
};

// float32 first.
std::vector<std::string> PrecisionsOfThisCpu();

// The gate to where `execution` has tensors, with which a family's loading begins. InvalidArgument,
// with those that exist, for a device that no executor computes on; also CheckCpuLimit's
// (common/kernels/cpu.h).
absl::StatusOr<TensorGate> GateOf(const Execution& execution);

// Where LibTorch itself computes what has no blocks: on the device, if LibTorch has CUDA, with the
// execution's watch, else on the CPU.  Errors as GateOf.
absl::StatusOr<TensorGate> TorchGateOf(const Execution& execution);

// Runs the blocks of `encoder`, whose weights lie where the gate has tensors; they are the
// executor's from then on, and `encoder` is left without any: block by block, so that no more than
// one of them is there twice.  On the CPU a pass is split over those of the pool's threads that
// have nothing else to do; a null pool is the calling thread alone.  `has_key_bias` says whether
// passes have one as a rule, for which a device then warms up.  InvalidArgument, with those that
// exist, for a device and precision without an executor, or that this CPU does not have; as
// StackDevices::New.
absl::StatusOr<std::unique_ptr<const TransformerExecutor>> NewExecutor(BertEncoder encoder,
                                                                       const Execution& execution,
                                                                       ComputePool* pool,
                                                                       bool has_key_bias = false);

// For networks without such blocks, whose precision nobody can choose: InvalidArgument for
// another one than float32.
absl::Status CheckUnchosenPrecision(const Execution& execution);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_EXECUTOR_H_
