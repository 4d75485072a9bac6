// The objectives that a recipe can name.
//
//   ASSIGN_OR_RETURN(const Objective* objective, FindObjective("listwise"));
//   RETURN_IF_ERROR(CheckObjectiveOptions(*objective, options));
//   ASSIGN_OR_RETURN(const Loss loss, ComputeLoss(*objective, PairLogits{logits}, options));
//
// The functions behind them, with formula and source, are in tower_losses.h, pair_losses.h and
// prediction_losses.h.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_OBJECTIVES_REGISTRY_H_
#define SIGHTLINE_COMMON_TRAINING_OBJECTIVES_REGISTRY_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/training/objectives/loss.h"
#include "common/training/objectives/loss_choices.h"
#include "common/training/objectives/pair_losses.h"
#include "common/training/objectives/prediction_losses.h"
#include "common/training/objectives/tower_losses.h"

namespace sightline {

// A TowerRows and the logarithm of what its scores are multiplied with, a learned scalar.
struct ScaledTowerRows {
  TowerRows rows;
  at::Tensor log_scale;
};

// Problems, as pair_losses.h says.
struct PairLogits {
  at::Tensor logits;
};

// What an objective reads; the enumerators of ObjectiveReads are in its order.
using ObjectiveInput =
    std::variant<TowerRows, ScaledTowerRows, BatchScores, PairLogits, Predictions>;
enum class ObjectiveReads : size_t {
  kTowerRows,
  kScaledTowerRows,
  kScoreMatrix,
  kPairLogits,
  kPredictions,
};

// What an objective over predictions has predicted, of what a network makes of a text and an image;
// nothing where that alone does not say it.
enum class Predicted {
  kNothing,
  kMatch,           // whether the two belong together
  kTokens,          // hidden words of the text
  kSceneTokens,     // hidden words that are read in the image
  kRegionFeatures,  // numbers of hidden regions
  kRegionClasses,   // ... and what they show
};

// Each objective says which of these it looks at.
struct ObjectiveOptions {
  double margin = 0;                                 // of hinges, 0 to 2
  double temperature = 1;                            // of softmaxes, 0.0001 to 1000
  WrongPairs wrong_pairs = WrongPairs::kHardest;     // of a hinge over a matrix
  ClassReduction classes = ClassReduction::kSum;     // of divergences
  BatchReduction reduction = BatchReduction::kMean;  // of a hinge over embeddings
};

struct Objective {
  // As a recipe has it.
  std::string name;
  std::string source;  // paper, in a few words
  ObjectiveReads reads;
  Predicted predicted = Predicted::kNothing;
  // Whether embeddings are to be of length one.
  bool wants_cosine = false;
  bool reads_margin = false;
  bool reads_temperature = false;
  bool reads_wrong_pairs = false;
  bool reads_classes = false;
  bool reads_reduction = false;
  // Whether what it predicts are a teacher's scores of problems' candidates.
  bool reads_teacher = false;
  // Whether it looks at hard texts and images of TowerRows.
  bool takes_hard = false;
  ObjectiveOptions defaults;  // the paper's

  Loss (*loss)(const ObjectiveInput& input, const ObjectiveOptions& options);
};

// All of them, in a fixed order; names are unique.
const std::vector<Objective>& Objectives();

// InvalidArgument with all names.  What it points to lives as long as the program.
absl::StatusOr<const Objective*> FindObjective(absl::string_view name);

// InvalidArgument, every problem at once: an option out of its range, or one that differs from
// its default though the objective does not look at it.
absl::Status CheckObjectiveOptions(const Objective& objective, const ObjectiveOptions& options);

// InvalidArgument if `input` is not of the kind that the objective reads.  Shapes are the
// caller's to get right: LibTorch throws.
absl::StatusOr<Loss> ComputeLoss(const Objective& objective, const ObjectiveInput& input,
                                 const ObjectiveOptions& options);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_OBJECTIVES_REGISTRY_H_
