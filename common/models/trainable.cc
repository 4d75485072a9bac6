#include "common/models/trainable.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/models/family_manifests.h"
#include "common/models/family_models.h"

namespace sightline {

absl::StatusOr<std::unique_ptr<TrainableNetwork>> LoadTrainable(const ModelBundle& bundle,
                                                                const TrainableOptions& options) {
  ASSIGN_OR_RETURN(const FamilyModel* family, FindFamilyModel(bundle.manifest.family()));
  if (family->trainable == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("a bundle of the family ",
                                                   bundle.manifest.family(),
                                                   " cannot be trained: train what it is made of"));
  }
  RETURN_IF_ERROR(CheckManifest(bundle.manifest));
  return family->trainable(bundle, options);
}

}  // namespace sightline
