// How a network learns from pairs: tasks, each an objective with a batch of its own, and the
// numbers that all of them share.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_RECIPE_H_
#define SIGHTLINE_COMMON_TRAINING_RECIPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/training/pair_sampler.h"
#include "common/training/training_options.h"

namespace sightline {

struct TaskRecipe {
  std::string objective;  // of objectives/registry.h
  // Of the objective; negative: the paper's.
  double margin = -1;
  double temperature = -1;
  // How often, relative to the other tasks' shares.
  double share = 1;
  // Captions with their pictures; of an objective over pairs, problems.
  int64_t batch = 96;
  EpochUnit unit = EpochUnit::kCaptions;
  // Of objectives over a batch: whether what may be right for a caption counts as wrong all the
  // same, as LightningDOT's code has it.
  bool counts_relatives = false;
  // Of objectives over pairs: pairs of a problem, which side the wrong ones change, and, of one,
  // the probability that it is the caption.
  int64_t candidates = 2;
  WrongSides sides = WrongSides::kOne;
  double text_negatives = 0.5;
};

enum class TaskOrder {
  kDrawn,  // each step draws its task by the shares
  kInTurn  // one after another; the joint training of "Retrieve Fast, Rerank Smart"
};

struct Recipe {
  uint64_t seed = 1;
  std::vector<TaskRecipe> tasks;
  TaskOrder order = TaskOrder::kDrawn;
  int64_t steps = 30'000;
  RateOptions rate = {5e-5, 0, DecayShape::kLinear, 0};
  AdamWOptions adamw;
  // Of all dropout layers; negative: each as its paper has it.
  double dropout = -1;
  Precision precision = Precision::kFloat32;
  // Rows (tokens and regions) that are computed at once; 0: whatever a batch has.
  int64_t pass_rows = 0;
  // Of objectives with a learned scale.
  double initial_temperature = 0.07;
  // Steps from one look at the development pictures to the next; what scores best there is what is
  // written.  0: at the end alone.
  int64_t develop_every = 1'000;
  // Pictures that are looked at, the first ones; 0: all.
  int64_t develop_pictures = 1'000;
};

// Shows all but seed and tasks, and all of a task but its objective, in a fixed order.
void VisitRecipe(Recipe* recipe, OptionVisitor* visitor);
void VisitTask(const std::string& prefix, TaskRecipe* task, OptionVisitor* visitor);

// InvalidArgument, every problem at once, with values and ranges: of numbers and of names that are
// no objective's.
absl::Status CheckRecipe(Recipe recipe);

// Every number that decides the weights as a line "tasks.0.batch=96", in a fixed order: what a
// checkpoint was trained with.
std::string DescribeRecipe(Recipe recipe);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_RECIPE_H_
