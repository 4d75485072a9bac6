// A folder of scripted modules becomes a model bundle.
#ifndef SIGHTLINE_COMMON_MODELS_TORCHSCRIPT_SCRIPT_BUNDLE_H_
#define SIGHTLINE_COMMON_MODELS_TORCHSCRIPT_SCRIPT_BUNDLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"

namespace sightline {

// `folder` holds manifest.json, a ModelBundleManifest of family "torchscript" (README.md),
// and the modules and the vocabulary that it names.  What is left out of it is filled in:
// format_version, files, embedding.space and torch_script.vocabulary_size.  The model is
// loaded and tried before a bundle is written below `store`.
//
// InvalidArgument: another family, a manifest that describes no model, or modules that are
// not as it says.  NotFound for a file that is missing.
absl::StatusOr<ModelBundle> BundleScripts(const std::string& folder, absl::string_view store);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_TORCHSCRIPT_SCRIPT_BUNDLE_H_
