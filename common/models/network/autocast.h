// LibTorch's mixed precision, whose interface differs between 1.13 and 2.x.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_AUTOCAST_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_AUTOCAST_H_

#include <c10/core/Device.h>

#include "absl/status/status.h"

namespace sightline {

// Whether the device trains in bfloat16 at all: one small step there and back, of each kind of
// product that AutocastScope rounds.  oneDNN has no bfloat16 for CPUs without AVX-512, and
// LibTorch does not always fall back.  FailedPrecondition with the library's reason and what to
// set instead.
absl::Status ProbeBfloat16(c10::Device device);

// While it lives, if `bfloat16`, matrix products and convolutions of this thread compute in it,
// on a GPU or on the CPU.  Weights that were rounded are kept for as long and no longer:
// the next step has others.  Only the forward pass belongs inside.
class AutocastScope {
 public:
  AutocastScope(bool bfloat16, bool on_gpu);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const bool active_;
  const bool on_gpu_;
};

// Whether one lives that is of the CPU, on this thread.
bool RoundsOnCpu();

// Has GPUs multiply and convolve in float32, whose inputs LibTorch would round to ten bits where
// it may (TF32); for the whole process.
void UseFloat32OnDevices();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_AUTOCAST_H_
