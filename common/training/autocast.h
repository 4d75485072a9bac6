// LibTorch's mixed precision, whose interface differs between 1.13 and 2.x.
#ifndef SIGHTLINE_COMMON_TRAINING_AUTOCAST_H_
#define SIGHTLINE_COMMON_TRAINING_AUTOCAST_H_

#include <c10/core/Device.h>

#include "absl/status/status.h"
#include "common/training/training_options.h"

namespace sightline {

// Whether the device computes in `precision` at all: one small step there and back, of each
// kind of product that AutocastScope rounds.  oneDNN has no bfloat16 for CPUs without
// AVX-512, and LibTorch does not always fall back.  FailedPrecondition with the library's
// reason and what to set instead.
absl::Status ProbePrecision(Precision precision, c10::Device device);

// While it lives, matrix products and convolutions of this thread compute in `precision`,
// on a GPU or on the CPU.  Weights that were rounded are kept for as long and no longer:
// the next step has others.  Only the forward pass belongs inside.
class AutocastScope {
 public:
  AutocastScope(Precision precision, bool on_gpu);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const bool active_;
  const bool on_gpu_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_AUTOCAST_H_
