#include "services/trainer/model_config.h"

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/models/family_manifests.h"
#include "common/models/init_model.h"
#include "common/models/inputs/bundle_tokenizer.h"

namespace sightline {
namespace {

absl::Status CheckModelConfig(bundle::v1::ModelBundleManifest manifest) {
  // Stands in for a size that is not known before there is a vocabulary.
  constexpr int kAnySize = 1000;
  if (VocabularySizeOf(manifest) == 0) SetVocabularySize(kAnySize, &manifest);
  return CheckManifest(manifest);
}

}  // namespace

absl::StatusOr<bundle::v1::ModelBundleManifest> ReadCheckedModelConfig(const std::string& path) {
  ASSIGN_OR_RETURN(bundle::v1::ModelBundleManifest manifest, ReadModelConfig(path));
  if (!path.empty()) RETURN_IF_ERROR(WithPrefix(CheckModelConfig(manifest), path));
  return manifest;
}

absl::StatusOr<bundle::v1::ModelBundleManifest> ReadTrainableModelConfig(const std::string& path) {
  ASSIGN_OR_RETURN(bundle::v1::ModelBundleManifest manifest, ReadCheckedModelConfig(path));
  if (manifest.has_grid_extractor()) return manifest;
  return absl::InvalidArgumentError(absl::StrCat(
      path,
      ": the model has no grid_extractor, so it cannot learn from pictures; learn from "
      "regions with: trainer learn"));
}

}  // namespace sightline
