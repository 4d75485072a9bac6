// What a manifest must say for an OSCAR to be built from it.
#ifndef SIGHTLINE_COMMON_MODELS_OSCAR_MANIFEST_H_
#define SIGHTLINE_COMMON_MODELS_OSCAR_MANIFEST_H_

#include "absl/status/status.h"
#include "common/bundle/model_bundle.h"

namespace sightline {

// InvalidArgument, all problems at once, unless an OSCAR can be built from `manifest`.
// Looks at no file.
absl::Status CheckOscarManifest(const bundle::v1::ModelBundleManifest& manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_OSCAR_MANIFEST_H_
