#include "services/trainer/train_config.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/usable_cores.h"

namespace sightline {
namespace {

// Ranges are CheckTrainingOptions' affair, which knows what excludes what.

void Read(ConfigReader& section, absl::string_view name, double* value) {
  *value = section.Double(name, *value);
}

void Read(ConfigReader& section, absl::string_view name, int64_t* value) {
  *value = section.Int(name, *value);
}

void Read(ConfigReader& section, absl::string_view name, bool* value) {
  *value = section.Bool(name, *value);
}

// One of two names.
template <typename Enum>
void ReadEither(ConfigReader& section, absl::string_view name, const char* first, Enum if_first,
                const char* second, Enum if_second, Enum* value) {
  const char* const otherwise = *value == if_first ? first : second;
  *value = section.Choice(name, otherwise, {first, second}) == first ? if_first : if_second;
}

void ReadRate(ConfigReader stage, RateOptions* rate) {
  ConfigReader section = stage.Section("rate");
  Read(section, "peak", &rate->peak);
  Read(section, "warmup_steps", &rate->warmup_steps);
  ReadEither(section, "decay", "cosine", DecayShape::kCosine, "linear", DecayShape::kLinear,
             &rate->decay);
  Read(section, "final_share", &rate->final_share);
}

void ReadCaptions(ConfigReader section, CaptionOptions* captions) {
  Read(section, "first", &captions->first);
  Read(section, "other_language", &captions->other_language);
  Read(section, "token_dropout", &captions->token_dropout);
}

void ReadAugment(ConfigReader section, AugmentOptions* augment) {
  Read(section, "scale", &augment->scale);
  Read(section, "shift", &augment->shift);
  Read(section, "rotation_degrees", &augment->rotation_degrees);
  Read(section, "flip_probability", &augment->flip_probability);
  Read(section, "brightness", &augment->brightness);
  Read(section, "contrast", &augment->contrast);
  Read(section, "saturation", &augment->saturation);
  Read(section, "grey_probability", &augment->grey_probability);
  Read(section, "erase_probability", &augment->erase_probability);
  Read(section, "erase_side", &augment->erase_side);
}

void ReadText(ConfigReader section, TextOptions* text) {
  Read(section, "epochs", &text->epochs);
  Read(section, "batch_size", &text->batch_size);
  ReadRate(section, &text->rate);
}

void ReadBi(ConfigReader section, BiOptions* bi) {
  Read(section, "epochs", &bi->epochs);
  ReadEither(section, "loss", "contrastive", BiLoss::kContrastive, "hinge", BiLoss::kHinge,
             &bi->loss);
  Read(section, "batch_size", &bi->batch_size);
  Read(section, "distractors", &bi->distractors);
  Read(section, "concepts", &bi->concepts);
  Read(section, "concept_weight", &bi->concept_weight);
  ReadRate(section, &bi->rate);
  Read(section, "hinge_margin", &bi->hinge_margin);
  Read(section, "initial_temperature", &bi->initial_temperature);
}

void ReadJoint(ConfigReader section, JointOptions* joint) {
  Read(section, "epochs", &joint->epochs);
  ReadEither(section, "loss", "listwise", CrossLoss::kListwise, "pairwise", CrossLoss::kPairwise,
             &joint->loss);
  ReadRate(section, &joint->rate);
  Read(section, "cross_steps_per_bi", &joint->cross_steps_per_bi);
  Read(section, "bi_rate_share", &joint->bi_rate_share);
  Read(section, "queries", &joint->queries);
  Read(section, "negatives", &joint->negatives);
  Read(section, "random_negatives", &joint->random_negatives);
  Read(section, "text_negatives", &joint->text_negatives);
  Read(section, "mine_every", &joint->mine_every);
  Read(section, "mined", &joint->mined);
  Read(section, "freeze_grid", &joint->freeze_grid);
  Read(section, "variants", &joint->variants);
  Read(section, "refresh_every", &joint->refresh_every);
  Read(section, "pass_rows", &joint->pass_rows);
}

void ReadAdamW(ConfigReader section, AdamWOptions* adamw) {
  Read(section, "beta1", &adamw->beta1);
  Read(section, "beta2", &adamw->beta2);
  Read(section, "epsilon", &adamw->epsilon);
  Read(section, "weight_decay", &adamw->weight_decay);
  Read(section, "clip_norm", &adamw->clip_norm);
}

void ReadValidation(ConfigReader section, ValidationOptions* validation) {
  Read(section, "every", &validation->every);
  Read(section, "training_queries", &validation->training_queries);
  Read(section, "depth", &validation->depth);
}

TrainingOptions ReadOptions(ConfigReader root) {
  TrainingOptions options;
  options.seed = static_cast<uint64_t>(
      root.Int("seed", static_cast<int64_t>(options.seed), 0, std::numeric_limits<int64_t>::max()));
  Read(root, "dropout", &options.dropout);
  Read(root, "average", &options.average);
  ReadEither(root, "precision", "float32", Precision::kFloat32, "bfloat16", Precision::kBfloat16,
             &options.precision);
  Read(root, "with_validation", &options.with_validation);
  ReadCaptions(root.Section("captions"), &options.captions);
  ReadAugment(root.Section("augment"), &options.augment);
  ReadText(root.Section("text"), &options.text);
  ReadBi(root.Section("bi"), &options.bi);
  ReadJoint(root.Section("joint"), &options.joint);
  ReadAdamW(root.Section("adamw"), &options.adamw);
  ReadValidation(root.Section("validation"), &options.validation);
  options.combination = root.Choice("combination", options.combination,
                                    {"auto", "replace", "add_lambda", "norm_add_lambda"});
  Read(root, "combination_lambda", &options.combination_lambda);
  return options;
}

// A path that file or flag must give.
std::string RequiredPath(ConfigReader root, absl::string_view key,
                         const absl::optional<std::string>& flag) {
  const std::string path = flag.value_or(root.String(key, ""));
  if (path.empty()) {
    root.AddProblem(key, absl::StrCat("is required, here or as the flag --", key));
  }
  return path;
}

// Both at once, if both have something to say.
absl::Status Joined(const absl::Status& a, const absl::Status& b) {
  if (a.ok()) return b;
  if (b.ok()) return a;
  return absl::InvalidArgumentError(absl::StrCat(a.message(), "\n", b.message()));
}

}  // namespace

absl::StatusOr<TrainConfig> ReadTrainConfig(ConfigFile* file, const TrainOverrides& overrides) {
  ConfigReader root = file->root();
  TrainConfig config;
  config.data = RequiredPath(root, "data", overrides.data);
  config.out = RequiredPath(root, "out", overrides.out);
  config.store = RequiredPath(root, "store", overrides.store);
  config.model_config = overrides.model_config.value_or(root.String("model_config", ""));
  config.retriever = overrides.retriever.value_or(root.String("retriever", ""));
  if (!config.retriever.empty() && !IsSha256Hex(config.retriever)) {
    root.AddProblem("retriever", "must be a bundle's id: 64 lower-case hex digits");
  }
  config.description = root.String("description", "");
  config.device = overrides.device.value_or(root.String("device", config.device));
  config.threads = static_cast<int>(
      overrides.threads.value_or(root.Int("threads", UsableCores(), 1, limits::kMaxThreads)));
  config.checkpoint_every = root.Duration("checkpoint_every", config.checkpoint_every,
                                          /*min=*/absl::Seconds(1), /*max=*/absl::Hours(24));
  config.report_every = root.Int("report_every", config.report_every, 1, 1'000'000);
  config.options = ReadOptions(root);
  if (overrides.seed.has_value()) config.options.seed = static_cast<uint64_t>(*overrides.seed);
  RETURN_IF_ERROR(Joined(file->Finish(), CheckTrainingOptions(config.options)));
  return config;
}

}  // namespace sightline
