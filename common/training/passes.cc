#include "common/training/passes.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

namespace sightline {

std::vector<std::vector<int64_t>> PassesOf(const std::vector<int64_t>& lengths, int64_t pass_rows) {
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  if (pass_rows == 0) return {order};
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return lengths[a] < lengths[b]; });
  std::vector<std::vector<int64_t>> passes;
  for (const int64_t item : order) {
    // In rising order the newcomer decides how far all are padded.
    const bool fits = !passes.empty() &&
                      (static_cast<int64_t>(passes.back().size()) + 1) * lengths[item] <= pass_rows;
    if (!fits) passes.emplace_back();
    passes.back().push_back(item);
  }
  return passes;
}

Loss PartOf(const Loss& loss, double share) {
  return {loss.value * share, loss.first.defined() ? loss.first * share : at::Tensor()};
}

Loss SumOf(const Loss& a, const Loss& b) {
  if (!a.value.defined()) return b;
  const bool ranked = a.first.defined() && b.first.defined();
  return {a.value + b.value, ranked ? a.first + b.first : at::Tensor()};
}

Loss AddedUp(const Loss& sum, const Loss& pass, double share) {
  const Loss part = PartOf(pass, share);
  part.value.backward();
  return SumOf(sum, {part.value.detach(), part.first.defined() ? part.first.detach() : part.first});
}

}  // namespace sightline
