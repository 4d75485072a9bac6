// A stack of transformer blocks on a device: what block_stack.h is on the CPU.
#ifndef SIGHTLINE_COMMON_KERNELS_DEVICE_STACK_H_
#define SIGHTLINE_COMMON_KERNELS_DEVICE_STACK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/device/device_info.h"
#include "common/device/pass_watch.h"
#include "common/kernels/block_stack.h"
#include "common/kernels/device_linear.h"

namespace sightline::kernels {

// What is read of the last layer's rows.
enum class StackReadout {
  kAllRows,    // T x hidden_size
  kFirstRows,  // of each sequence the first one
  kMeanRows,   // of each sequence the mean
};

// The most of a pass.
struct PassLimits {
  int64_t rows = 16384;
  int64_t sequences = 16384;
};

struct DeviceStackOptions {
  StackShape shape;
  int64_t block_count = 0;
  // As Execution has it: "float32" or "bfloat16".
  std::string precision;
  PassLimits limits;
  // Is told of each pass while the device has it, from the first copy to the last; null: nobody is.
  std::shared_ptr<device::PassWatch> watch;
};

using device::PassStats;

// Thread-safe once it has all of its blocks; passes of several threads take turns, each laid out,
// copied and asked for while the one before it is computed.
class DeviceStack {
 public:
  virtual ~DeviceStack() = default;

  // Copies the next block, whose weights nobody needs afterwards.  Exactly block_count are added.
  virtual absl::Status Add(const BlockWeights& weights) = 0;

  // Runs passes of each size with sequences of about `usual_length` rows, so that few requests are
  // the first to want what is made for them.  Nobody is told of these passes.
  virtual absl::Status WarmUp(StackReadout readout, bool has_bias, int64_t usual_length) = 0;

  // A row's result does not depend on the other sequences of its pass beyond what a product of
  // another height rounds differently.  InvalidArgument for more than the limits, and for sequences
  // without rows or of other rows than the parts have; UNAVAILABLE
  // (DEVICE_FAILED) if the device fails, and ever after.  `stats` may be null.
  virtual absl::Status Run(const Sequences& sequences, StackReadout readout, float* out,
                           PassStats* stats) = 0;
  absl::Status Run(const Sequences& sequences, StackReadout readout, float* out) {
    return Run(sequences, readout, out, nullptr);
  }

  virtual int64_t byte_count() const = 0;
};

// What a stack takes of its device, once it has all of its blocks.  INT64_MAX for more than there
// is of anything.
int64_t BytesOfStack(const DeviceStackOptions& options);

// The devices of this machine, by number.  Thread-safe.
class StackDevices {
 public:
  virtual ~StackDevices() = default;

  // UNAVAILABLE (DEVICE_FAILED) if there is no such device, or it cannot be used.
  virtual absl::StatusOr<device::DeviceInfo> Describe(int device) const = 0;

  // A stack without its blocks, with all else that it takes.  InvalidArgument for a shape or a
  // precision that there is no kernel for; RESOURCE_EXHAUSTED if there is too little memory;
  // UNAVAILABLE (DEVICE_FAILED).
  virtual absl::StatusOr<std::unique_ptr<DeviceStack>> New(const DeviceStackOptions& options,
                                                           int device) const = 0;

  // A layer of `options`' inputs and outputs, with its weights, which nobody needs afterwards.
  // RESOURCE_EXHAUSTED; UNAVAILABLE (DEVICE_FAILED).
  virtual absl::StatusOr<std::unique_ptr<DeviceLinear>> NewLinear(
      const LinearWeights& weights, const DeviceLinearOptions& options, int device) const = 0;

  // Whether stacks are worth warming up: what is made for passes of a size takes a while.
  virtual bool want_warm_up() const { return true; }
};

// What stacks compute in on a device; the most precise first.
inline constexpr const char* kStackPrecisions[] = {"float32", "bfloat16"};

// Those of CUDA.  FailedPrecondition if this program was built without.  In :cuda_stacks.
absl::StatusOr<std::shared_ptr<const StackDevices>> CudaStackDevices();

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_DEVICE_STACK_H_
