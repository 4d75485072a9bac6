// What makes a model a member of an ensemble.
#ifndef SIGHTLINE_COMMON_MODELS_ENSEMBLE_MANIFEST_H_
#define SIGHTLINE_COMMON_MODELS_ENSEMBLE_MANIFEST_H_

#include "absl/status/status.h"
#include "common/bundle/model_bundle.h"

namespace sightline {

// InvalidArgument unless an ensemble may have this member.  The message goes on behind the
// member's name.
absl::Status CheckEnsembleMember(const bundle::v1::ModelBundleManifest& member);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_ENSEMBLE_MANIFEST_H_
