// What model is trained: a manifest without files.
#ifndef SIGHTLINE_SERVICES_TRAINER_MODEL_CONFIG_H_
#define SIGHTLINE_SERVICES_TRAINER_MODEL_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/bundle/model_bundle.h"

namespace sightline {

// The JSON of a ModelBundleManifest in the file `path`; SmallOscarManifest() if it is
// empty.  transformer.vocabulary_size may be 0: as many as the vocabulary has.
//
// InvalidArgument, all problems at once, for what describes no model that can be trained
// from pixels; NotFound and so on from reading.
absl::StatusOr<bundle::v1::ModelBundleManifest> ReadTrainableModelConfig(const std::string& path);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_MODEL_CONFIG_H_
