// Compares autograd with central differences.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_OBJECTIVES_GRADIENT_CHECK_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_OBJECTIVES_GRADIENT_CHECK_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace sightline {

// A leaf with the numbers of `x`, in float64.
at::Tensor Leaf(const at::Tensor& x);

// Fails the test unless d loss / d x, at every element of every leaf, is the slope between two
// points `step` to either side, within `tolerance`.  `leaves` are contiguous float64; `loss`
// computes a scalar of them, the same whenever their numbers are, and smooth within the steps.
// A gradient that is zero everywhere fails, too: then nothing was compared.
void RequireGradients(const std::vector<at::Tensor>& leaves,
                      const std::function<at::Tensor()>& loss, double step = 1e-6,
                      double tolerance = 1e-7);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_OBJECTIVES_GRADIENT_CHECK_H_
