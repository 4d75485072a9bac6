// What model is trained: a manifest without files.  The JSON of a ModelBundleManifest in the file
// `path`; SmallOscarManifest() if it is empty.  vocabulary_size may be 0: as many as the vocabulary
// has.
#ifndef SIGHTLINE_SERVICES_TRAINER_MODEL_CONFIG_H_
#define SIGHTLINE_SERVICES_TRAINER_MODEL_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/bundle/model_bundle.h"

namespace sightline {

// InvalidArgument, all problems at once, for what describes no model; NotFound and so on from
// reading.
absl::StatusOr<bundle::v1::ModelBundleManifest> ReadCheckedModelConfig(const std::string& path);

// The same, and InvalidArgument for one that cannot be trained from pixels.
absl::StatusOr<bundle::v1::ModelBundleManifest> ReadTrainableModelConfig(const std::string& path);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_MODEL_CONFIG_H_
