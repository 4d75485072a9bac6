#include "common/training/objectives/transport.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "common/training/objectives/loss.h"

namespace sightline {
namespace {

constexpr double kBeta = 0.5, kLeastNorm = 1e-5;
constexpr int kSteps = 50;

at::Tensor UnitRows(const at::Tensor& rows) {
  const at::Tensor exact = InLossPrecision(rows);
  return exact / exact.norm(2, {-1}, /*keepdim=*/true).clamp_min(kLeastNorm);
}

at::Tensor MaskOf(const PaddedItems& items) {
  if (items.mask.defined()) return items.mask.to(InLossPrecision(items.rows).options());
  return at::ones({items.rows.size(0), items.rows.size(1)}, InLossPrecision(items.rows).options());
}

}  // namespace

at::Tensor CosineCosts(const PaddedItems& words, const PaddedItems& regions) {
  return 1 - at::matmul(UnitRows(words.rows), UnitRows(regions.rows).transpose(1, 2));
}

at::Tensor TransportPlan(const at::Tensor& costs, const PaddedItems& words,
                         const PaddedItems& regions) {
  const at::NoGradGuard no_grad;
  const at::Tensor of_words = MaskOf(words).unsqueeze(2);      // B x M x 1
  const at::Tensor of_regions = MaskOf(regions).unsqueeze(1);  // B x 1 x N
  const at::Tensor word_count = of_words.sum(1, true), region_count = of_regions.sum(2, true);
  const at::Tensor kernel = at::exp(-costs / kBeta) * of_words * of_regions;
  at::Tensor plan = of_words * of_regions;
  at::Tensor by_word = of_words / word_count, by_region;
  // Padding's sums are 0, and so is what becomes of it.
  const auto inverse = [](const at::Tensor& sums, const at::Tensor& mask) {
    return mask / (sums + (1 - mask));
  };
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor scaled = kernel * plan;
    by_region = inverse(region_count * (scaled * by_word).sum(1, true), of_regions);
    by_word = inverse(word_count * (scaled * by_region).sum(2, true), of_words);
    plan = by_word * scaled * by_region;
  }
  return plan;
}

at::Tensor TransportDistances(const PaddedItems& words, const PaddedItems& regions) {
  const at::Tensor costs = CosineCosts(words, regions);
  return (costs * TransportPlan(costs.detach(), words, regions)).sum({1, 2});
}

}  // namespace sightline
