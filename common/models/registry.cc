// The families: one line each.
#include "common/base/status_macros.h"
#include "common/models/ensemble.h"
#include "common/models/family.h"
#include "common/models/family_manifests.h"
#include "common/models/lightningdot.h"
#include "common/models/m3p.h"
#include "common/models/model.h"
#include "common/models/oscar.h"
#include "common/models/sgraf.h"
#include "common/models/torchscript.h"
#include "common/models/uniter.h"
#include "common/models/vldeformer.h"

namespace sightline {

absl::Span<const Family> Families() {
  static const Family families[] = {
      EnsembleFamily(), LightningDotFamily(), M3pFamily(),    OscarFamily(),
      SgrafFamily(),    TorchScriptFamily(),  UniterFamily(), VlDeformerFamily(),
  };
  return families;
}

absl::StatusOr<const Family*> FindFamily(absl::string_view name) {
  for (const Family& family : Families()) {
    if (family.name == name) return &family;
  }
  return UnknownFamily(name);
}

absl::StatusOr<std::shared_ptr<const Model>> LoadModel(const ModelBundle& bundle,
                                                       const ModelOptions& options) {
  ASSIGN_OR_RETURN(const Family* family, FindFamily(bundle.manifest.family()));
  RETURN_IF_ERROR(CheckManifest(bundle.manifest));
  return family->load(bundle, options);
}

}  // namespace sightline
