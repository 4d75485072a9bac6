#include "common/models/network/padded_rows.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace sightline {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

// Each is the other's gradient.  Both are written as reading rows by number, which is a copy; the
// gradient that LibTorch derives of that adds up row by row, since numbers may repeat.

at::Tensor Padded(const at::Tensor& rows, const at::Tensor& sources) {
  return rows.index_select(0, sources);
}

at::Tensor Packed(const at::Tensor& padded, const at::Tensor& places) {
  return padded.index_select(0, places);
}

struct PadFunction : torch::autograd::Function<PadFunction> {
  static Variable forward(AutogradContext* context, const Variable& rows, const Variable& sources,
                          const Variable& places) {
    context->save_for_backward({places});
    return Padded(rows, sources);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradient) {
    return {Packed(gradient[0], context->get_saved_variables()[0]), Variable(), Variable()};
  }
};

struct PackFunction : torch::autograd::Function<PackFunction> {
  static Variable forward(AutogradContext* context, const Variable& padded, const Variable& sources,
                          const Variable& places, const Variable& mask) {
    context->save_for_backward({sources, mask});
    return Packed(padded, places);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradient) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor mask = saved[1].to(gradient[0].scalar_type()).view({-1, 1});
    return {Padded(gradient[0], saved[0]).mul_(mask), Variable(), Variable(), Variable()};
  }
};

}  // namespace

PaddedRows::PaddedRows(const std::vector<int64_t>& lengths, c10::Device device)
    : count_(static_cast<int64_t>(lengths.size())),
      longest_(*std::max_element(lengths.begin(), lengths.end())) {
  std::vector<int64_t> sources(count_ * longest_, 0), places;
  std::vector<float> mask(sources.size(), 0);
  for (int64_t i = 0; i < count_; ++i) {
    for (int64_t row = 0; row < lengths[i]; ++row) {
      const int64_t place = i * longest_ + row;
      sources[place] = static_cast<int64_t>(places.size());
      mask[place] = 1;
      places.push_back(place);
    }
  }
  if (places.size() == sources.size()) return;
  sources_ = at::tensor(sources, at::kLong).to(device);
  places_ = at::tensor(places, at::kLong).to(device);
  mask_ = at::tensor(mask).view({count_, longest_}).to(device);
}

at::Tensor PaddedRows::Pad(const at::Tensor& rows) const {
  const at::Tensor padded = mask_.defined() ? PadFunction::apply(rows, sources_, places_) : rows;
  return padded.view({count_, longest_, rows.size(1)});
}

at::Tensor PaddedRows::Pack(const at::Tensor& padded) const {
  const at::Tensor rows = padded.flatten(0, 1);
  return mask_.defined() ? PackFunction::apply(rows, sources_, places_, mask_) : rows;
}

}  // namespace sightline
