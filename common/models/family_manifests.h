// What a manifest must say for a model of its family to be built from it.  No torch: whoever
// writes a bundle asks here what whoever loads it will ask.
//
// A family has its <family>_manifest.cc and one line in family_manifests.cc.
#ifndef SIGHTLINE_COMMON_MODELS_FAMILY_MANIFESTS_H_
#define SIGHTLINE_COMMON_MODELS_FAMILY_MANIFESTS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"

namespace sightline {

// InvalidArgument unless a model can be built from `manifest`: all problems at once, or for a
// family that there is not, those that there are.  Looks at no file.
absl::Status CheckManifest(const bundle::v1::ModelBundleManifest& manifest);

// InvalidArgument: there is no family `name`, but these.
absl::Status UnknownFamily(absl::string_view name);

// InvalidArgument unless an ensemble may have this member.  The message goes on behind the
// member's name.
absl::Status CheckEnsembleMember(const bundle::v1::ModelBundleManifest& member);

// The families' own checks, which CheckManifest calls.
absl::Status CheckEnsembleManifest(const bundle::v1::ModelBundleManifest& manifest);
absl::Status CheckLightningDotManifest(const bundle::v1::ModelBundleManifest& manifest);
absl::Status CheckM3pManifest(const bundle::v1::ModelBundleManifest& manifest);
absl::Status CheckOscarManifest(const bundle::v1::ModelBundleManifest& manifest);
absl::Status CheckSgrafManifest(const bundle::v1::ModelBundleManifest& manifest);
absl::Status CheckTorchScriptManifest(const bundle::v1::ModelBundleManifest& manifest);
absl::Status CheckUniterManifest(const bundle::v1::ModelBundleManifest& manifest);
absl::Status CheckVlDeformerManifest(const bundle::v1::ModelBundleManifest& manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_FAMILY_MANIFESTS_H_
