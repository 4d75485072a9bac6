// AdamW ("Decoupled Weight Decay Regularization", Loshchilov and Hutter, 2019) over flat
// memory, with a running average of the weights.
//
// Not torch::optim::AdamW, for three reasons.  Its state is keyed by addresses and saved
// in a format that LibTorch 1.13 and 2.x do not share; ours is named tensors.  It launches
// some ten kernels a parameter, ours a dozen a group: all weights of a group lie in one
// tensor, and the module's parameters are views of it, as are their gradients.  And a
// group that a step gave no gradient is left alone, momentum and decay included.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_ADAMW_H_
#define SIGHTLINE_COMMON_TRAINING_ADAMW_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/training/training_options.h"

namespace sightline {

struct NamedParameter {
  std::string name;
  at::Tensor value;  // a float32 leaf that requires a gradient
};

// Whether weight decay applies: by the rule, and never to a single number.
bool Decays(DecayRule rule, absl::string_view name, const at::Tensor& value);

// Not thread-safe.
class AdamW {
 public:
  // Parameters that always get their gradients from the same steps form a group.  Moves
  // the parameters' values into memory of its own, on their device, where they stay: the
  // parameters see every step.  `average`: whether an average is kept; it starts as the
  // weights are now.
  AdamW(const std::vector<std::vector<NamedParameter>>& groups, const AdamWOptions& options,
        bool average);

  // Gradients to zero.  Backward passes then add to them.
  void ZeroGradients();

  // The gradients of these groups, where they lie: what several processes add up before a step.
  std::vector<at::Tensor> Gradients(const std::vector<size_t>& groups) const;

  // Multiplies the gradients of these groups, as for a mean of those that were added up.
  void ScaleGradients(const std::vector<size_t>& groups, double factor);

  // One step of these groups; the rest stays as it is.  Returns the gradient's norm over
  // them before clipping, a scalar on the device.
  at::Tensor Step(const std::vector<size_t>& groups, double rate);

  // average = keep * average + (1 - keep) * weights, of all groups.
  void UpdateAverage(double keep);
  // Exchanges weights and average, if there is one; the module then computes with it.
  // Calling it twice changes nothing.
  void SwapAverage();

  // Goes on from the average, which is left as it is.
  void AdoptAverage();

  // Views of all state: "weights/NAME", "first/NAME", "second/NAME" (moments) and, if
  // there is one, "average/NAME".  Writing to them sets the state.
  std::map<std::string, at::Tensor> State() const;
  // Steps that each group has made; part of the state.
  std::vector<int64_t> step_counts() const;
  void set_step_counts(const std::vector<int64_t>& counts);

 private:
  struct Slot {
    std::string name;
    std::vector<int64_t> shape;
    int64_t offset = 0;
    int64_t count = 0;
  };
  struct Group {
    std::vector<Slot> slots;
    // Flat float32, equally long.
    at::Tensor weights, gradients, first, second, average;
    at::Tensor decay;  // 1 where weight decay applies
    int64_t step_count = 0;
  };

  Group MakeGroup(const std::vector<NamedParameter>& parameters, bool average) const;
  void StepGroup(double rate, Group* group) const;
  // What StepGroup makes of the numbers from `begin` on; its own step is counted.
  void StepPart(double rate, const Group& group, int64_t begin, int64_t count) const;

  const AdamWOptions options_;
  std::vector<Group> groups_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_ADAMW_H_
