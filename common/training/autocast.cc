#include "common/training/autocast.h"

#include <ATen/autocast_mode.h>
#include <torch/version.h>

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

}  // namespace

AutocastScope::AutocastScope(Precision precision, bool on_gpu)
    : active_(precision == Precision::kBfloat16), on_gpu_(on_gpu) {
  if (!active_) return;
  Switch(true, on_gpu_);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  Switch(false, on_gpu_);
}

}  // namespace sightline
