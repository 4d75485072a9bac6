#include "common/training/objectives/registry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sightline {
namespace {

using Options = ObjectiveOptions;
using Input = ObjectiveInput;

constexpr double kMostMargin = 2;
constexpr double kLeastTemperature = 1e-4, kMostTemperature = 1e3;

constexpr const char* kInputNames[] = {"embeddings", "embeddings and a scale", "a matrix of scores",
                                       "problems' logits", "predictions and targets"};

Objective Of(std::string name, std::string source, ObjectiveReads reads,
             Loss (*loss)(const Input&, const Options&)) {
  Objective objective;
  objective.name = std::move(name);
  objective.source = std::move(source);
  objective.reads = reads;
  objective.loss = loss;
  return objective;
}

Objective WithMargin(Objective objective, double margin) {
  objective.reads_margin = true;
  objective.defaults.margin = margin;
  return objective;
}

Objective WithTemperature(Objective objective, double temperature) {
  objective.reads_temperature = true;
  objective.defaults.temperature = temperature;
  return objective;
}

Objective WithWrongPairs(Objective objective) {
  objective.reads_wrong_pairs = true;
  return objective;
}

Objective WithClasses(Objective objective) {
  objective.reads_classes = true;
  return objective;
}

Objective WithReduction(Objective objective) {
  objective.reads_reduction = true;
  return objective;
}

Objective WithTeacher(Objective objective) {
  objective.reads_teacher = true;
  return objective;
}

Objective Predicting(Predicted predicted, Objective objective) {
  objective.predicted = predicted;
  return objective;
}

Loss OfMaskedTokens(const Input& input, const Options&) {
  return MaskedTokenLoss(std::get<Predictions>(input));
}

std::vector<Objective> OfTowers() {
  return {
      Of("cmr", "LightningDOT's cross-modal retrieval", ObjectiveReads::kTowerRows,
         [](const Input& input, const Options&) {
           return ContrastiveLoss(std::get<TowerRows>(input), {});
         }),
      Of("contrastive", "CLIP; cross-modal retrieval with a learned scale",
         ObjectiveReads::kScaledTowerRows,
         [](const Input& input, const Options&) {
           const auto& scaled = std::get<ScaledTowerRows>(input);
           return ContrastiveLoss(scaled.rows, scaled.log_scale);
         }),
      WithTemperature(Of("decomposed", "VLDeformer's contrastive loss", ObjectiveReads::kTowerRows,
                         [](const Input& input, const Options& options) {
                           return DecomposedLoss(std::get<TowerRows>(input), options.temperature);
                         }),
                      0.005),
      WithReduction(WithMargin(
          Of("hinge", "the bi-encoder of Retrieve Fast, Rerank Smart", ObjectiveReads::kTowerRows,
             [](const Input& input, const Options& options) {
               return HingeLoss(std::get<TowerRows>(input), options.margin, options.reduction);
             }),
          0.1)),
      WithWrongPairs(WithMargin(Of("matrix_hinge", "SGRAF, T-EMDE", ObjectiveReads::kScoreMatrix,
                                   [](const Input& input, const Options& options) {
                                     return MatrixHingeLoss(std::get<BatchScores>(input),
                                                            options.margin, options.wrong_pairs);
                                   }),
                                0.2)),
  };
}

std::vector<Objective> OfPairLogits() {
  return {
      Of("listwise", "ListNet with one right", ObjectiveReads::kPairLogits,
         [](const Input& input, const Options&) {
           return ListwiseLoss(std::get<PairLogits>(input).logits);
         }),
      Of("pairwise", "OSCAR; the cross-encoder of Retrieve Fast, Rerank Smart",
         ObjectiveReads::kPairLogits,
         [](const Input& input, const Options&) {
           return PairwiseLoss(std::get<PairLogits>(input).logits);
         }),
      WithMargin(Of("sigmoid_hinge", "UNITER's image-text retrieval", ObjectiveReads::kPairLogits,
                    [](const Input& input, const Options& options) {
                      return SigmoidHingeLoss(std::get<PairLogits>(input).logits, options.margin);
                    }),
                 0.2),
      Predicting(Predicted::kMatch,
                 Of("matching", "UNITER's image-text matching", ObjectiveReads::kPredictions,
                    [](const Input& input, const Options&) {
                      const auto& pairs = std::get<Predictions>(input);
                      return MatchingLoss(pairs.predicted, pairs.targets);
                    })),
  };
}

std::vector<Objective> OfPredictions() {
  return {
      Predicting(Predicted::kTokens, Of("mlm", "masked language modelling; LightningDOT's VMLM",
                                        ObjectiveReads::kPredictions, OfMaskedTokens)),
      Predicting(Predicted::kSceneTokens, Of("msm", "masked scene-text modelling",
                                             ObjectiveReads::kPredictions, OfMaskedTokens)),
      Predicting(
          Predicted::kRegionFeatures,
          Of("mrfr", "UNITER's masked region feature regression", ObjectiveReads::kPredictions,
             [](const Input& input, const Options&) {
               return RegionFeatureLoss(std::get<Predictions>(input));
             })),
      Predicting(Predicted::kRegionClasses,
                 WithClasses(Of("mrc_kl", "UNITER's masked region classification",
                                ObjectiveReads::kPredictions,
                                [](const Input& input, const Options& options) {
                                  return RegionClassLoss(std::get<Predictions>(input),
                                                         options.classes);
                                }))),
      WithTeacher(WithClasses(
          WithTemperature(Of("distillation", "Hinton et al., 2015; LightningDOT of a UNITER",
                             ObjectiveReads::kPredictions,
                             [](const Input& input, const Options& options) {
                               return DistillationLoss(std::get<Predictions>(input),
                                                       options.temperature, options.classes);
                             }),
                          1))),
  };
}

std::vector<Objective> All() {
  std::vector<Objective> all = OfTowers();
  for (Objective& objective : all) {
    objective.takes_hard = objective.name == "decomposed" || objective.name == "hinge";
    objective.wants_cosine = objective.name == "contrastive" || objective.name == "decomposed" ||
                             objective.name == "hinge";
  }
  for (const auto& more : {OfPairLogits(), OfPredictions()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

class Problems {
 public:
  void Range(absl::string_view name, double value, double low, double high) {
    // Negated, so that NaN is refused.
    if (!(value >= low && value <= high)) {
      all_.push_back(absl::StrCat(name, " is ", value, ", not ", low, " to ", high));
    }
  }
  void Unread(absl::string_view name, bool reads, bool is_default) {
    if (!reads && !is_default) all_.push_back(absl::StrCat(name, " is set, but not looked at"));
  }
  absl::Status ToStatus(absl::string_view objective) const {
    if (all_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("objective ", objective, ": ", absl::StrJoin(all_, "; ")));
  }

 private:
  std::vector<std::string> all_;
};

}  // namespace

const std::vector<Objective>& Objectives() {
  static const auto* const all = new std::vector<Objective>(All());
  return *all;
}

absl::StatusOr<const Objective*> FindObjective(absl::string_view name) {
  std::vector<std::string> names;
  for (const Objective& objective : Objectives()) {
    if (objective.name == name) return &objective;
    names.push_back(objective.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no objective \"", name, "\"; there are ", absl::StrJoin(names, ", ")));
}

absl::Status CheckObjectiveOptions(const Objective& objective, const ObjectiveOptions& options) {
  const ObjectiveOptions& usual = objective.defaults;
  Problems problems;
  problems.Range("margin", options.margin, 0, kMostMargin);
  problems.Range("temperature", options.temperature, kLeastTemperature, kMostTemperature);
  problems.Unread("margin", objective.reads_margin, options.margin == usual.margin);
  problems.Unread("temperature", objective.reads_temperature,
                  options.temperature == usual.temperature);
  problems.Unread("wrong_pairs", objective.reads_wrong_pairs,
                  options.wrong_pairs == usual.wrong_pairs);
  problems.Unread("classes", objective.reads_classes, options.classes == usual.classes);
  problems.Unread("reduction", objective.reads_reduction, options.reduction == usual.reduction);
  return problems.ToStatus(objective.name);
}

absl::StatusOr<Loss> ComputeLoss(const Objective& objective, const ObjectiveInput& input,
                                 const ObjectiveOptions& options) {
  const auto reads = static_cast<size_t>(objective.reads);
  if (input.index() != reads) {
    return absl::InvalidArgumentError(absl::StrCat("objective ", objective.name, " reads ",
                                                   kInputNames[reads], ", not ",
                                                   kInputNames[input.index()]));
  }
  return objective.loss(input, options);
}

}  // namespace sightline
