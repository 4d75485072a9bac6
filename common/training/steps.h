// One step of training: batch, forward, backward, optimiser.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_STEPS_H_
#define SIGHTLINE_COMMON_TRAINING_STEPS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "common/training/adamw.h"
#include "common/training/batches.h"
#include "common/training/grid_source.h"
#include "common/training/joint_net.h"
#include "common/training/objectives/loss.h"
#include "common/training/training_options.h"

namespace sightline {

// What a step says of itself.  Scalars on the device: reading one waits for the device.
struct StepOutcome {
  at::Tensor loss;
  at::Tensor first;  // see Loss
  at::Tensor gradient_norm;
  at::Tensor concept_loss;  // of a bi step that showed concepts
  int64_t items = 0;        // captions or problems
};

// Not thread-safe.  What it is made of must outlive it.
class TrainingSteps {
 public:
  // Moves the net's weights into an optimiser of its own.
  TrainingSteps(const TrainingSet* set, const BatchSampler* sampler, GridSource* source,
                JointNet* net, const TrainingOptions* options);

  // The `number`-th text step, bi step, cross step (from 0) of the run.  Everything random in it
  // follows from the seed and this number.
  StepOutcome Text(int64_t number, double rate);
  StepOutcome Bi(int64_t number, double rate);
  // When the source is frozen, the stem's weights are left alone.
  StepOutcome Cross(int64_t number, double rate, const MinedNegatives& mined);

  AdamW& optimizer() { return optimizer_; }
  // Of the contrastive loss.
  double Temperature() const;
  // What texts have made of it is too sharp for pictures that nobody has seen.
  void ResetTemperature();

 private:
  void LimitTemperature();
  std::vector<size_t> GroupsOfBi() const;
  std::vector<size_t> GroupsOfCross() const;
  // By the options' loss.
  Loss BiLossOf(const at::Tensor& texts, const at::Tensor& others,
                const std::vector<uint8_t>& related) const;
  Loss ConceptLoss(const ConceptBatch& batch, uint64_t seed);
  // Runs the pairs of `problems` of `batch` and adds their share of the loss's gradient.
  Loss CrossPass(const CrossBatch& batch, const std::vector<int64_t>& problems,
                 const std::vector<int64_t>& place_of_pair, const at::Tensor& regions);
  // Problems of like length together, each pass within pass_rows.
  std::vector<std::vector<int64_t>> Passes(const CrossBatch& batch) const;

  const TrainingSet& set_;
  const BatchSampler& sampler_;
  GridSource& source_;
  JointNet& net_;
  const TrainingOptions& options_;
  at::Tensor log_scale_;  // minus the logarithm of the temperature; learned
  AdamW optimizer_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_STEPS_H_
