#include "common/models/network/autocast.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/version.h>

#include <exception>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sightline {
namespace {

void Switch(bool on, bool on_gpu) {
#if TORCH_VERSION_MAJOR >= 2
  const at::DeviceType device = on_gpu ? at::kCUDA : at::kCPU;
  if (on) at::autocast::set_autocast_dtype(device, at::kBFloat16);
  at::autocast::set_autocast_enabled(device, on);
#else
  if (on_gpu) {
    if (on) at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
    at::autocast::set_enabled(on);
  } else {
    if (on) at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(on);
  }
#endif
}

// A convolution, a product of matrices and one of batches of them, and the way back.
void SmallStep(c10::Device device) {
  constexpr int64_t kSide = 16;
  const at::AutoGradMode with_gradients(true);
  const at::TensorOptions floats = at::TensorOptions().dtype(at::kFloat).device(device);
  const at::Tensor picture = at::ones({2, 3, kSide, kSide}, floats);
  const at::Tensor filters = at::ones({kSide, 3, 3, 3}, floats).requires_grad_();
  const at::Tensor matrix = at::ones({kSide, kSide}, floats).requires_grad_();
  at::Tensor sum;
  {
    const AutocastScope scope(/*bfloat16=*/true, device.is_cuda());
    const at::Tensor rows =
        at::conv2d(picture, filters, {}, 1, 1).flatten(2).transpose(1, 2);  // 2 x 256 x 16
    const at::Tensor products = at::linear(rows, matrix);
    sum = at::bmm(products, products.transpose(1, 2)).to(at::kFloat).mean();
  }
  sum.backward();
}

}  // namespace

absl::Status ProbeBfloat16(c10::Device device) {
  try {
    SmallStep(device);
    return absl::OkStatus();
  } catch (const std::exception& error) {
    // The first line; a stack trace may follow.
    const absl::string_view reason = *absl::StrSplit(absl::string_view(error.what()), '\n').begin();
    return absl::FailedPreconditionError(
        absl::StrCat("precision bfloat16: this machine's LibTorch does not compute in it on ",
                     device.str(), " (", reason, "); set precision to float32"));
  }
}

AutocastScope::AutocastScope(bool bfloat16, bool on_gpu) : active_(bfloat16), on_gpu_(on_gpu) {
  if (!active_) return;
  Switch(true, on_gpu_);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  Switch(false, on_gpu_);
}

bool RoundsOnCpu() {
#if TORCH_VERSION_MAJOR >= 2
  return at::autocast::is_autocast_enabled(at::kCPU);
#else
  return at::autocast::is_cpu_enabled();
#endif
}

void UseFloat32OnDevices() {
  static const bool done = [] {
    at::globalContext().setAllowTF32CuBLAS(false);
    at::globalContext().setAllowTF32CuDNN(false);
    return true;
  }();
  (void)done;
}

}  // namespace sightline
