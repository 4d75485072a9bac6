#include "services/trainer/model_config.h"

#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/models/family_manifests.h"
#include "common/models/init_model.h"

namespace sightline {
namespace {

absl::Status CheckModelConfig(bundle::v1::ModelBundleManifest manifest) {
  // Stands in for a size that is not known before there is a vocabulary.
  constexpr int kAnySize = 1000;
  bundle::v1::TransformerSpec* transformer = manifest.mutable_transformer();
  if (transformer->vocabulary_size() == 0) transformer->set_vocabulary_size(kAnySize);
  RETURN_IF_ERROR(CheckManifest(manifest));
  if (!manifest.has_grid_extractor()) {
    return absl::InvalidArgumentError(
        "the model has no grid_extractor, so it cannot learn from pictures");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bundle::v1::ModelBundleManifest> ReadTrainableModelConfig(const std::string& path) {
  ASSIGN_OR_RETURN(bundle::v1::ModelBundleManifest manifest, ReadModelConfig(path));
  if (path.empty()) return manifest;
  RETURN_IF_ERROR(WithPrefix(CheckModelConfig(manifest), path));
  return manifest;
}

}  // namespace sightline
