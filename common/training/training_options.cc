#include "common/training/training_options.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/embedding/score.h"

namespace sightline {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;

// `names` are those of the enumerators, in their order.
template <typename Enum>
void VisitChoice(const std::string& name, const std::vector<std::string>& names, Enum* value,
                 OptionVisitor* v) {
  auto place = static_cast<size_t>(*value);
  v->Choice(name, names, &place);
  *value = static_cast<Enum>(place);
}

void VisitRate(const std::string& stage, RateOptions* rate, OptionVisitor* v) {
  v->Number(stage + ".rate.peak", &rate->peak, 0, 1);
  v->Count(stage + ".rate.warmup_steps", &rate->warmup_steps, 0, kMost);
  VisitChoice(stage + ".rate.decay", {"cosine", "linear"}, &rate->decay, v);
  v->Number(stage + ".rate.final_share", &rate->final_share, 0, 1);
}

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
  VisitRate("text", &text->rate, v);
}

void VisitBi(BiOptions* bi, OptionVisitor* v) {
  v->Count("bi.epochs", &bi->epochs, 0, 1000000);
  VisitChoice("bi.loss", {"contrastive", "hinge"}, &bi->loss, v);
  v->Count("bi.batch_size", &bi->batch_size, 2, 65536);
  v->Count("bi.distractors", &bi->distractors, 0, 65536);
  v->Count("bi.concepts", &bi->concepts, 0, 65536);
  v->Number("bi.concept_weight", &bi->concept_weight, 0, 1000);
  VisitRate("bi", &bi->rate, v);
  v->Number("bi.hinge_margin", &bi->hinge_margin, 0, 2);
  v->Number("bi.initial_temperature", &bi->initial_temperature, 0.01, 1);
}

void VisitJoint(JointOptions* joint, OptionVisitor* v) {
  v->Count("joint.epochs", &joint->epochs, 0, 1000000);
  VisitChoice("joint.loss", {"listwise", "pairwise"}, &joint->loss, v);
  VisitRate("joint", &joint->rate, v);
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
  v->Count("joint.pass_rows", &joint->pass_rows, 1, kMost);
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
  v->Number("adamw.beta1", &options->adamw.beta1, 0, 0.999999);
  v->Number("adamw.beta2", &options->adamw.beta2, 0, 0.9999999);
  v->Number("adamw.epsilon", &options->adamw.epsilon, 1e-12, 1);
  v->Number("adamw.weight_decay", &options->adamw.weight_decay, 0, 10);
  v->Number("adamw.clip_norm", &options->adamw.clip_norm, 0, 1e9);
}

class Checker : public OptionVisitor {
 public:
  void Number(const std::string& name, double* value, double low, double high) override {
    // Negated, so that NaN is refused.
    if (!(*value >= low && *value <= high)) Note(name, *value, low, high);
  }
  void Count(const std::string& name, int64_t* value, int64_t low, int64_t high) override {
    if (*value < low || *value > high) Note(name, *value, low, high);
  }
  void Flag(const std::string&, bool*) override {}
  void Choice(const std::string&, const std::vector<std::string>&, size_t*) override {}

  void Require(bool holds, absl::string_view problem) {
    if (!holds) problems_.emplace_back(problem);
  }
  absl::Status ToStatus() const {
    if (problems_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("training options: ", absl::StrJoin(problems_, "; ")));
  }

 private:
  template <typename T>
  void Note(const std::string& name, T value, T low, T high) {
    problems_.push_back(absl::StrCat(name, " is ", value, ", not ", low, " to ", high));
  }
  std::vector<std::string> problems_;
};

class Describer : public OptionVisitor {
 public:
  void Number(const std::string& name, double* value, double, double) override {
    absl::StrAppendFormat(&text_, "%s=%.17g\n", name, *value);
  }
  void Count(const std::string& name, int64_t* value, int64_t, int64_t) override {
    absl::StrAppend(&text_, name, "=", *value, "\n");
  }
  void Flag(const std::string& name, bool* value) override {
    absl::StrAppend(&text_, name, "=", *value ? "true" : "false", "\n");
  }
  void Choice(const std::string& name, const std::vector<std::string>& names,
              size_t* value) override {
    absl::StrAppend(&text_, name, "=", names[*value], "\n");
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

void CheckCombination(const TrainingOptions& options, Checker* checker) {
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
  Checker checker;
  VisitTrainingOptions(&options, &checker);
  checker.Require(options.bi.epochs + options.joint.epochs > 0,
                  "bi.epochs and joint.epochs are both 0: there is nothing to do");
  const bool cross_alone = options.joint.cross_steps_per_bi == 0;
  checker.Require(!options.joint.freeze_grid || options.joint.epochs == 0 ||
                      options.bi.epochs > 0 || cross_alone,
                  "joint.freeze_grid is set, but bi.epochs is 0: the stem would stay random");
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
  CheckCombination(options, &checker);
  return checker.ToStatus();
}

std::string DescribeTrainingOptions(TrainingOptions options) {
  Describer describer;
  VisitWeights(&options, &describer);
  return absl::StrCat("seed=", options.seed, "\n", std::move(describer).text());
}

}  // namespace sightline
