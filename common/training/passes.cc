#include "common/training/passes.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "common/base/status_macros.h"

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

absl::StatusOr<Loss> SumOverWorld(const absl::StatusOr<Loss>& own, TrainingWorld* world) {
  RETURN_IF_ERROR(AgreeIn(world, own.status()));
  const Loss& part = *own;
  if (IsAlone(world)) return part.value.defined() ? part : Loss{at::zeros({}), {}};
  const at::Tensor sum = at::zeros({3}, at::kDouble);
  if (part.value.defined()) sum[0].copy_(part.value);
  if (part.first.defined()) sum[1].copy_(part.first);
  // Whether any ranks: those without a row cannot tell.
  sum[2].fill_(part.first.defined() ? 1 : 0);
  RETURN_IF_ERROR(world->AddUp({sum}));
  const bool ranked = sum[2].item<double>() > 0;
  return Loss{sum[0].to(at::kFloat), ranked ? sum[1].to(at::kFloat) : at::Tensor()};
}

}  // namespace sightline
