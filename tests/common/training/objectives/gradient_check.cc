#include "tests/common/training/objectives/gradient_check.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// Loss with `value`, which stands in memory of a leaf, set to `x`.
double LossAt(double x, double* value, const std::function<at::Tensor()>& loss) {
  at::NoGradGuard no_grad;
  const double before = *value;
  *value = x;
  const double result = loss().item<double>();
  *value = before;
  return result;
}

}  // namespace

at::Tensor Leaf(const at::Tensor& x) {
  return x.detach().to(at::kDouble).contiguous().clone().set_requires_grad(true);
}

void RequireGradients(const std::vector<at::Tensor>& leaves,
                      const std::function<at::Tensor()>& loss, double step, double tolerance) {
  for (at::Tensor leaf : leaves) leaf.mutable_grad() = at::zeros_like(leaf);
  loss().backward();
  for (size_t number = 0; number < leaves.size(); ++number) {
    const at::Tensor& leaf = leaves[number];
    REQUIRE(leaf.scalar_type() == at::kDouble);
    const at::Tensor gradient = leaf.grad().contiguous();
    INFO("leaf " << number);
    REQUIRE(gradient.abs().max().item<double>() > 0);
    double* const values = leaf.data_ptr<double>();
    for (int64_t i = 0; i < leaf.numel(); ++i) {
      const double x = values[i];
      const double slope =
          (LossAt(x + step, &values[i], loss) - LossAt(x - step, &values[i], loss)) / (2 * step);
      INFO("element " << i);
      REQUIRE(gradient.data_ptr<double>()[i] == Approx(slope).epsilon(1e-6).margin(tolerance));
    }
  }
}

}  // namespace sightline
