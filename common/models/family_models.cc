#include "common/models/family_models.h"

#include "common/base/status_macros.h"
#include "common/models/family_manifests.h"
#include "common/models/model.h"

namespace sightline {

absl::StatusOr<const FamilyModel*> FindFamilyModel(absl::string_view family) {
#define SIGHTLINE_FAMILY(name) \
  if (family == #name) return &name::kModel;
#include "common/models/families.inc"
#undef SIGHTLINE_FAMILY
  return UnknownFamily(family);
}

absl::StatusOr<std::shared_ptr<const Model>> LoadModel(const ModelBundle& bundle,
                                                       const ModelOptions& options) {
  ASSIGN_OR_RETURN(const FamilyModel* family, FindFamilyModel(bundle.manifest.family()));
  RETURN_IF_ERROR(CheckManifest(bundle.manifest));
  return family->load(bundle, options);
}

}  // namespace sightline
