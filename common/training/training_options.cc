#include "common/training/training_options.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/embedding/score.h"
#include "common/training/option_visitors.h"

namespace sightline {
namespace {

void VisitAugment(AugmentOptions* augment, OptionVisitor* v) {
  v->Number("augment.scale", &augment->scale, 0, 0.9);
  v->Number("augment.shift", &augment->shift, 0, 1);
  v->Number("augment.rotation_degrees", &augment->rotation_degrees, 0, 180);
  v->Number("augment.flip_probability", &augment->flip_probability, 0, 1);
  v->Number("augment.brightness", &augment->brightness, 0, 1);
  v->Number("augment.contrast", &augment->contrast, 0, 10);
  v->Number("augment.saturation", &augment->saturation, 0, 1);
  v->Number("augment.grey_probability", &augment->grey_probability, 0, 1);
  v->Number("augment.erase_probability", &augment->erase_probability, 0, 1);
  v->Number("augment.erase_side", &augment->erase_side, 0, 1);
}

void VisitText(TextOptions* text, OptionVisitor* v) {
  v->Count("text.epochs", &text->epochs, 0, 1000000);
  v->Count("text.batch_size", &text->batch_size, 2, 65536);
  VisitRate("text.rate", &text->rate, v);
}

void VisitBi(BiOptions* bi, OptionVisitor* v) {
  v->Count("bi.epochs", &bi->epochs, 0, 1000000);
  VisitChoice("bi.loss", {"contrastive", "hinge"}, &bi->loss, v);
  v->Count("bi.batch_size", &bi->batch_size, 2, 65536);
  v->Count("bi.distractors", &bi->distractors, 0, 65536);
  v->Count("bi.concepts", &bi->concepts, 0, 65536);
  v->Number("bi.concept_weight", &bi->concept_weight, 0, 1000);
  VisitRate("bi.rate", &bi->rate, v);
  v->Number("bi.hinge_margin", &bi->hinge_margin, 0, 2);
  v->Number("bi.initial_temperature", &bi->initial_temperature, 0.01, 1);
}

void VisitJoint(JointOptions* joint, OptionVisitor* v) {
  v->Count("joint.epochs", &joint->epochs, 0, 1000000);
  VisitChoice("joint.loss", {"listwise", "pairwise"}, &joint->loss, v);
  VisitRate("joint.rate", &joint->rate, v);
  v->Count("joint.cross_steps_per_bi", &joint->cross_steps_per_bi, 0, 1000000);
  v->Number("joint.bi_rate_share", &joint->bi_rate_share, 0, 100);
  v->Count("joint.queries", &joint->queries, 1, 65536);
  v->Count("joint.negatives", &joint->negatives, 1, 4096);
  v->Count("joint.random_negatives", &joint->random_negatives, 0, 4096);
  v->Number("joint.text_negatives", &joint->text_negatives, 0, 1);
  v->Count("joint.mine_every", &joint->mine_every, 1, 1000000);
  v->Count("joint.mined", &joint->mined, 1, 4096);
  v->Flag("joint.freeze_grid", &joint->freeze_grid);
  v->Count("joint.variants", &joint->variants, 1, 64);
  v->Count("joint.refresh_every", &joint->refresh_every, 1, 1000000);
  v->Count("joint.pass_rows", &joint->pass_rows, 1, kMostCount);
}

// What decides the weights.
void VisitWeights(TrainingOptions* options, OptionVisitor* v) {
  v->Number("dropout", &options->dropout, 0, 0.9);
  v->Number("average", &options->average, 0, 0.999999);
  VisitChoice("precision", {"float32", "bfloat16"}, &options->precision, v);
  v->Flag("with_validation", &options->with_validation);
  v->Number("captions.first", &options->captions.first, 0, 1);
  v->Number("captions.other_language", &options->captions.other_language, 0, 1);
  v->Number("captions.token_dropout", &options->captions.token_dropout, 0, 0.9);
  VisitAugment(&options->augment, v);
  VisitText(&options->text, v);
  VisitBi(&options->bi, v);
  VisitJoint(&options->joint, v);
  VisitAdamW("adamw", &options->adamw, v);
}

void CheckCombination(const TrainingOptions& options, OptionChecker* checker) {
  if (options.combination == "auto") {
    checker->Require(!options.with_validation || options.joint.epochs == 0,
                     "combination is auto, but with with_validation no row is left that could "
                     "choose; name one");
    return;
  }
  const auto kind = ParseCombinationKind(options.combination);
  checker->Require(kind.ok(), absl::StrCat(kind.ok() ? "" : kind.status().message(), ", or auto"));
  const double lambda = options.combination_lambda;
  checker->Require(lambda >= 0 && lambda <= 1,
                   absl::StrCat("combination_lambda is ", lambda, ", not 0 to 1"));
}

}  // namespace

void VisitTrainingOptions(TrainingOptions* options, OptionVisitor* v) {
  VisitWeights(options, v);
  v->Count("validation.every", &options->validation.every, 0, 1000000);
  v->Count("validation.training_queries", &options->validation.training_queries, 0, 1000000);
  v->Count("validation.depth", &options->validation.depth, 1, 4096);
}

absl::Status CheckTrainingOptions(TrainingOptions options) {
  OptionChecker checker("training options");
  VisitTrainingOptions(&options, &checker);
  checker.Require(options.bi.epochs + options.joint.epochs > 0,
                  "bi.epochs and joint.epochs are both 0: there is nothing to do");
  const bool cross_alone = options.joint.cross_steps_per_bi == 0;
  // Its pictures are looked at through the retriever's stem.
  checker.Require(!cross_alone || (options.bi.epochs == 0 && options.joint.freeze_grid),
                  "joint.cross_steps_per_bi is 0, which needs bi.epochs 0 and joint.freeze_grid");
  checker.Require(options.joint.random_negatives <= options.joint.negatives,
                  absl::StrCat("joint.random_negatives is ", options.joint.random_negatives,
                               ", more than joint.negatives, ", options.joint.negatives));
  checker.Require(options.text.epochs == 0 || options.bi.epochs > 0,
                  "text.epochs is not 0, but bi.epochs is: what texts teach would meet no picture");
  checker.Require(options.bi.concepts != 1, "bi.concepts is 1: one cannot be told from others");
  checker.Require(options.bi.concepts == 0 || options.bi.concept_weight > 0,
                  "bi.concept_weight is 0: the concepts of bi.concepts would teach nothing");
  const bool hinge = options.bi.loss == BiLoss::kHinge;
  checker.Require(hinge || options.bi.hinge_margin == BiOptions().hinge_margin,
                  "bi.hinge_margin is set, but bi.loss is contrastive, which has none");
  checker.Require(!hinge || options.bi.initial_temperature == BiOptions().initial_temperature,
                  "bi.initial_temperature is set, but bi.loss is hinge, which has none");
  const TrainingOptions usual;
  CheckRate("text.rate", options.text.rate, usual.text.rate, &checker);
  CheckRate("bi.rate", options.bi.rate, usual.bi.rate, &checker);
  CheckRate("joint.rate", options.joint.rate, usual.joint.rate, &checker);
  CheckCombination(options, &checker);
  return checker.ToStatus();
}

std::string DescribeTrainingOptions(TrainingOptions options) {
  OptionDescriber describer;
  VisitWeights(&options, &describer);
  return absl::StrCat("seed=", options.seed, "\n", std::move(describer).text());
}

}  // namespace sightline
