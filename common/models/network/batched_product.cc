#include "common/models/network/batched_product.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/kernels/small_products.h"
#include "common/models/network/autocast.h"

namespace sightline {
namespace {

using kernels::ProductShape;
using kernels::StridedMatrix;
using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

// Multiplications that are worth another thread.
constexpr int64_t kWorthAThread = 1 << 18;

// Of one row, or column, the next is never read.
int64_t StepOf(const at::Tensor& x, int64_t dim) {
  return x.size(dim) == 1 ? 1 : x.stride(dim);
}

StridedMatrix MatrixOf(const at::Tensor& x, int64_t offset) {
  return {x.data_ptr<float>() + offset, StepOf(x, -2), StepOf(x, -1)};
}

// Where matrix `i` of `x` begins.
int64_t OffsetOf(const at::Tensor& x, int64_t i) {
  if (x.dim() == 3) return i * x.stride(0);
  const int64_t inner = x.size(1);
  return i / inner * x.stride(0) + i % inner * x.stride(1);
}

at::Tensor Turned(const at::Tensor& x) {
  return x.transpose(-1, -2);
}

// Multiplications of one product.
int64_t WorkOf(const at::Tensor& a, const at::Tensor& b) {
  return a.size(-2) * a.size(-1) * b.size(-1);
}

// To `out`, each of whose rows is in one piece.
void MultiplyTo(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out) {
  const ProductShape shape = {a.size(-2), a.size(-1), b.size(-1)};
  const int64_t count = out.numel() / (shape.rows * shape.columns);
  const int64_t grain = std::max<int64_t>(1, kWorthAThread / WorkOf(a, b));
  at::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    std::vector<float> work(static_cast<size_t>(kernels::SmallProductFloats(shape)));
    for (int64_t i = begin; i < end; ++i) {
      kernels::MultiplySmall(shape, MatrixOf(a, OffsetOf(a, i)), MatrixOf(b, OffsetOf(b, i)),
                             work.data(), out.data_ptr<float>() + OffsetOf(out, i), out.stride(-2));
    }
  });
}

// Whether it is B x h x L x d and lies as B x L x h x d: heads, which are parts of rows.
bool IsOfHeads(const at::Tensor& x) {
  return x.dim() == 4 && StepOf(x, -1) == 1 && x.stride(1) < x.stride(2);
}

// a b, which lies as `like` does where that is of heads, else in one piece.
at::Tensor ProductAs(const at::Tensor& like, const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != at::kFloat) return at::matmul(a, b);
  std::vector<int64_t> shape = a.sizes().vec();
  shape.back() = b.size(-1);
  if (a.size(-1) == 0) return at::zeros(shape, a.options());
  if (IsOfHeads(like)) std::swap(shape[1], shape[2]);
  at::Tensor out = at::empty(shape, a.options());
  if (IsOfHeads(like)) out = out.transpose(1, 2);
  if (out.numel() > 0) MultiplyTo(a, b, out);
  return out;
}

// The gradient a b of `of`: what it came from may be turned.
at::Tensor GradientOf(const at::Tensor& of, const at::Tensor& a, const at::Tensor& b) {
  const bool turned = StepOf(of, -1) != 1 && StepOf(of, -2) == 1;
  return turned ? Turned(ProductAs(Turned(of), Turned(b), Turned(a))) : ProductAs(of, a, b);
}

struct ProductFunction : torch::autograd::Function<ProductFunction> {
  static Variable forward(AutogradContext* context, const Variable& a, const Variable& b) {
    context->save_for_backward({a, b});
    return ProductAs(b, a, b);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradient) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "a BatchedProduct has no gradients of gradients");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &a = saved[0], &b = saved[1], &slope = gradient[0];
    return {context->needs_input_grad(0) ? GradientOf(a, slope, Turned(b)) : Variable(),
            context->needs_input_grad(1) ? GradientOf(b, Turned(a), slope) : Variable()};
  }
};

}  // namespace

at::Tensor BatchedProduct(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK((a.dim() == 3 || a.dim() == 4) && a.dim() == b.dim() && a.size(-1) == b.size(-2) &&
                  a.sizes().slice(0, a.dim() - 2) == b.sizes().slice(0, b.dim() - 2),
              "matrices of ", a.sizes(), " and ", b.sizes(), " cannot be multiplied one by one");
  if (!a.is_cpu() || RoundsOnCpu() || WorkOf(a, b) > kMostOfSmall) return at::matmul(a, b);
  TORCH_CHECK(a.device() == b.device() && a.scalar_type() == b.scalar_type(), "matrices of ",
              a.toString(), " and ", b.toString(), " cannot be multiplied");
  return ProductFunction::apply(a, b);
}

}  // namespace sightline
