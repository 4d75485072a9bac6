// What the registry knows of a family of models.
#ifndef SIGHTLINE_COMMON_MODELS_FAMILY_H_
#define SIGHTLINE_COMMON_MODELS_FAMILY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/bundle/model_bundle.h"
#include "common/models/model.h"

namespace sightline {

// How weights are stored in a bundle; computing is done in float32 in either case.
enum class WeightDtype { kFloat32, kFloat16 };

struct Family {
  // What a manifest's `family` says.
  absl::string_view name;

  // See LoadModel; of a bundle whose manifest CheckManifest accepts.
  absl::StatusOr<std::shared_ptr<const Model>> (*load)(const ModelBundle& bundle,
                                                       const ModelOptions& options);

  // Random weights for a manifest that CheckManifest accepts, as a safetensors file; equal
  // arguments give equal bytes on the same kind of CPU.
  absl::StatusOr<std::string> (*initial_weights)(const bundle::v1::ModelBundleManifest& manifest,
                                                 uint64_t seed, WeightDtype dtype);
};

// Every family, by name.
absl::Span<const Family> Families();

// InvalidArgument, naming what there is, for a family that is not among them.
absl::StatusOr<const Family*> FindFamily(absl::string_view name);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_FAMILY_H_
