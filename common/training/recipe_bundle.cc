#include "common/training/recipe_bundle.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/formats/safetensors.h"
#include "common/models/network/autocast.h"
#include "common/models/network/weights.h"
#include "common/training/training_device.h"

namespace sightline {
namespace {

// Which are what is computed in bfloat16; without them it would do nothing.
absl::Status CheckHasBlocks(const bundle::v1::ModelBundleManifest& manifest) {
  if (manifest.has_transformer()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("precision bfloat16: products of transformer blocks are computed in it, and the "
                   "family ",
                   manifest.family(), " has none; set precision to float32"));
}

// The learner's tensors and, beside them, those of heads, which have names of their own.
absl::StatusOr<std::string> WeightsFile(const TrainableNetwork& learner,
                                        const PretrainingHeads& heads) {
  ASSIGN_OR_RETURN(std::string own, SerializeWeights(*learner.module, WeightDtype::kFloat16));
  if (!heads) return own;
  ASSIGN_OR_RETURN(const std::string of_heads, SerializeWeights(*heads, WeightDtype::kFloat16));
  ASSIGN_OR_RETURN(const auto file, Safetensors::FromBytes(own));
  ASSIGN_OR_RETURN(const auto heads_file, Safetensors::FromBytes(of_heads));
  std::map<std::string, TensorView> tensors = file->tensors();
  tensors.insert(heads_file->tensors().begin(), heads_file->tensors().end());
  return SerializeSafetensors(tensors);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainableNetwork>> LoadLearner(const RecipeJob& job,
                                                              c10::Device device) {
  TrainableOptions options;
  options.device = device;
  options.dropout = job.recipe.dropout;
  options.bfloat16 = job.recipe.precision == Precision::kBfloat16;
  if (options.bfloat16) {
    RETURN_IF_ERROR(CheckHasBlocks(job.start->manifest));
    RETURN_IF_ERROR(ProbeBfloat16(device));
  }
  UseTrainingThreads(job.threads);
  return LoadTrainable(*job.start, options);
}

absl::StatusOr<ModelBundle> WriteLearntBundle(const RecipeJob& job, const TrainableNetwork& learner,
                                              const PretrainingHeads& heads) {
  bundle::v1::ModelBundleManifest manifest = job.start->manifest;
  manifest.set_description(!job.description.empty()
                               ? job.description
                               : absl::StrCat("trained for ", job.recipe.steps, " steps from ",
                                              job.start->id.substr(0, 12)));
  std::map<std::string, std::string> files;
  const std::string& vocabulary = manifest.tokenizer().vocabulary_file();
  ASSIGN_OR_RETURN(files[vocabulary],
                   ReadFile(job.start->FilePath(vocabulary), limits::kMaxVocabularyBytes));
  ASSIGN_OR_RETURN(files[std::string(kWeightsFile)], WeightsFile(learner, heads));
  return WriteModelBundle(job.store, manifest, files);
}

}  // namespace sightline
