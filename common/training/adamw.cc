#include "common/training/adamw.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

// Each parameter begins at a multiple of 64 bytes, as an allocation of its own would.
constexpr int64_t kAlignment = 16;

// Numbers that a CPU takes through all of a step before the next: of what is read and written of
// them, 192 KiB, a core's own cache holds most meanwhile.  A whole number of what LibTorch's widest
// loops take at a time; numbers that are left over it computes otherwise.
constexpr int64_t kPart = 1 << 13;

at::Tensor View(const at::Tensor& flat, int64_t offset, int64_t count,
                const std::vector<int64_t>& shape) {
  return flat.narrow(0, offset, count).view(shape);
}

}  // namespace

bool Decays(DecayRule rule, absl::string_view name, const at::Tensor& value) {
  if (value.dim() == 0) return false;  // a learned temperature
  if (rule == DecayRule::kAll) return true;
  if (rule == DecayRule::kByName) {
    return !absl::StrContains(name, "bias") && !absl::StrContains(name, "LayerNorm.weight");
  }
  return value.dim() >= 2 && !absl::EndsWith(name, "bias") &&
         !absl::StrContains(name, "embeddings.");
}

AdamW::AdamW(const std::vector<std::vector<NamedParameter>>& groups, const AdamWOptions& options,
             bool average)
    : options_(options) {
  at::NoGradGuard no_grad;
  for (const auto& parameters : groups) groups_.push_back(MakeGroup(parameters, average));
}

AdamW::Group AdamW::MakeGroup(const std::vector<NamedParameter>& parameters, bool average) const {
  Group group;
  int64_t length = 0;
  for (const NamedParameter& parameter : parameters) {
    const int64_t count = parameter.value.numel();
    group.slots.push_back({parameter.name, parameter.value.sizes().vec(), length, count});
    length += (count + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (parameters.empty()) return group;
  group.weights = at::zeros({length}, parameters[0].value.options().requires_grad(false));
  group.gradients = at::zeros_like(group.weights);
  group.first = at::zeros_like(group.weights);
  group.second = at::zeros_like(group.weights);
  group.decay = at::zeros_like(group.weights);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Slot& slot = group.slots[i];
    at::Tensor parameter = parameters[i].value;
    const at::Tensor place = View(group.weights, slot.offset, slot.count, slot.shape);
    place.copy_(parameter);
    parameter.set_data(place);
    parameter.mutable_grad() = View(group.gradients, slot.offset, slot.count, slot.shape);
    if (Decays(options_.decays, slot.name, parameter)) {
      group.decay.narrow(0, slot.offset, slot.count).fill_(1);
    }
  }
  if (average) group.average = group.weights.clone();
  return group;
}

void AdamW::ZeroGradients() {
  at::NoGradGuard no_grad;
  for (Group& group : groups_) {
    if (group.gradients.defined()) group.gradients.zero_();
  }
}

std::vector<at::Tensor> AdamW::Gradients(const std::vector<size_t>& groups) const {
  std::vector<at::Tensor> gradients;
  for (const size_t group : groups) {
    if (groups_[group].gradients.defined()) gradients.push_back(groups_[group].gradients);
  }
  return gradients;
}

void AdamW::ScaleGradients(const std::vector<size_t>& groups, double factor) {
  for (const size_t group : groups) groups_[group].gradients.mul_(factor);
}

at::Tensor AdamW::Step(const std::vector<size_t>& groups, double rate) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> norms;
  for (const size_t i : groups) {
    if (groups_[i].gradients.defined()) norms.push_back(groups_[i].gradients.norm());
  }
  const at::Tensor norm = at::stack(norms).norm();
  const at::Tensor factor = (options_.clip_norm / (norm + 1e-6)).clamp_max(1);
  for (const size_t i : groups) {
    if (!groups_[i].gradients.defined()) continue;
    if (options_.clip_norm > 0) groups_[i].gradients.mul_(factor);
    StepGroup(rate, &groups_[i]);
  }
  return norm;
}

void AdamW::StepGroup(double rate, Group* group) const {
  ++group->step_count;
  const int64_t length = group->weights.numel();
  if (!group->weights.is_cpu()) return StepPart(rate, *group, 0, length);
  at::parallel_for(0, (length + kPart - 1) / kPart, /*grain_size=*/1,
                   [&](int64_t first, int64_t last) {
                     at::NoGradGuard no_grad;
                     for (int64_t part = first; part < last; ++part) {
                       const int64_t begin = part * kPart;
                       StepPart(rate, *group, begin, std::min(kPart, length - begin));
                     }
                   });
}

void AdamW::StepPart(double rate, const Group& group, int64_t begin, int64_t count) const {
  const auto part = [&](const at::Tensor& flat) { return flat.narrow(0, begin, count); };
  const at::Tensor weights = part(group.weights), gradients = part(group.gradients);
  const at::Tensor first = part(group.first), second = part(group.second);
  const auto step = static_cast<double>(group.step_count);
  weights.addcmul_(weights, part(group.decay), -rate * options_.weight_decay);
  first.lerp_(gradients, 1 - options_.beta1);
  second.mul_(options_.beta2).addcmul_(gradients, gradients, 1 - options_.beta2);
  const double first_bias = 1 - std::pow(options_.beta1, step);
  const double second_bias = 1 - std::pow(options_.beta2, step);
  const at::Tensor scale = second.sqrt().div_(std::sqrt(second_bias)).add_(options_.epsilon);
  weights.addcdiv_(first, scale, -rate / first_bias);
}

void AdamW::UpdateAverage(double keep) {
  at::NoGradGuard no_grad;
  for (Group& group : groups_) {
    if (group.average.defined()) group.average.lerp_(group.weights, 1 - keep);
  }
}

void AdamW::SwapAverage() {
  at::NoGradGuard no_grad;
  for (Group& group : groups_) {
    if (!group.average.defined()) continue;
    // By value: the parameters are views of `weights` and stay so.
    const at::Tensor weights = group.weights.clone();
    group.weights.copy_(group.average);
    group.average.copy_(weights);
  }
}

void AdamW::AdoptAverage() {
  at::NoGradGuard no_grad;
  for (Group& group : groups_) {
    if (group.average.defined()) group.weights.copy_(group.average);
  }
}

std::map<std::string, at::Tensor> AdamW::State() const {
  std::map<std::string, at::Tensor> state;
  for (const Group& group : groups_) {
    for (const Slot& slot : group.slots) {
      const auto add = [&](absl::string_view kind, const at::Tensor& flat) {
        if (!flat.defined()) return;
        state[absl::StrCat(kind, "/", slot.name)] = View(flat, slot.offset, slot.count, slot.shape);
      };
      add("weights", group.weights);
      add("first", group.first);
      add("second", group.second);
      add("average", group.average);
    }
  }
  return state;
}

std::vector<int64_t> AdamW::step_counts() const {
  std::vector<int64_t> counts;
  for (const Group& group : groups_) counts.push_back(group.step_count);
  return counts;
}

void AdamW::set_step_counts(const std::vector<int64_t>& counts) {
  for (size_t i = 0; i < groups_.size(); ++i) groups_[i].step_count = counts[i];
}

}  // namespace sightline
