// What a server says of a model that it holds.
#ifndef SIGHTLINE_COMMON_BUNDLE_LOADED_MODEL_H_
#define SIGHTLINE_COMMON_BUNDLE_LOADED_MODEL_H_

#include <map>
#include <string>

#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

struct LoadedModel {
  bundle::v1::ModelBundleManifest manifest;
  // That it computes in; empty for a model that only prepares features.
  std::string precision;
  // Least share of float32's ten best that it finds too (PrecisionAgreement); 1 in float32.
  double agreement = 1;
};

// By SHA-256 of the bundle.
using LoadedModels = std::map<std::string, LoadedModel>;

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_LOADED_MODEL_H_
