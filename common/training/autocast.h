// LibTorch's mixed precision, whose interface differs between 1.13 and 2.x.
#ifndef SIGHTLINE_COMMON_TRAINING_AUTOCAST_H_
#define SIGHTLINE_COMMON_TRAINING_AUTOCAST_H_

#include "common/training/training_options.h"

namespace sightline {

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
