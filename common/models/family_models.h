// What the registry knows of a family of models: how one is built of a bundle, and from nothing.
#ifndef SIGHTLINE_COMMON_MODELS_FAMILY_MODELS_H_
#define SIGHTLINE_COMMON_MODELS_FAMILY_MODELS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/models/model.h"

namespace sightline {

// How weights are stored in a bundle; computing is done in float32 in either case.
enum class WeightDtype { kFloat32, kFloat16 };

// network/trainable_network.h
struct TrainableNetwork;
struct TrainableOptions;

struct FamilyModel {
  // See LoadModel; of a bundle whose manifest CheckManifest accepts.
  absl::StatusOr<std::shared_ptr<const Model>> (*load)(const ModelBundle& bundle,
                                                       const ModelOptions& options);

  // Random weights for a manifest that CheckManifest accepts, as a safetensors file; equal
  // arguments give equal bytes on the same kind of CPU.
  absl::StatusOr<std::string> (*initial_weights)(const bundle::v1::ModelBundleManifest& manifest,
                                                 uint64_t seed, WeightDtype dtype);

  // See LoadTrainable (trainable.h); null for a family that is not learnt.
  absl::StatusOr<std::unique_ptr<TrainableNetwork>> (*trainable)(const ModelBundle& bundle,
                                                                 const TrainableOptions& options);
};

// <family>::kModel, of every family in families.bzl: in <family>/model.cc.
#define SIGHTLINE_FAMILY(family)   \
  namespace family {               \
  extern const FamilyModel kModel; \
  }
#include "common/models/families.inc"
#undef SIGHTLINE_FAMILY

// InvalidArgument, naming what there is, for a family that is not among them.
absl::StatusOr<const FamilyModel*> FindFamilyModel(absl::string_view family);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_FAMILY_MODELS_H_
