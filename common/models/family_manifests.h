// What a manifest must say for a model of its family to be built from it.  No torch: whoever
// writes a bundle asks here what whoever loads it will ask.
#ifndef SIGHTLINE_COMMON_MODELS_FAMILY_MANIFESTS_H_
#define SIGHTLINE_COMMON_MODELS_FAMILY_MANIFESTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/models/inputs/region_input.h"

namespace sightline {

struct FamilyManifest {
  // See CheckManifest.
  absl::Status (*check)(const bundle::v1::ModelBundleManifest& manifest);

  // How the family's models read regions; null if that is its members' business.  Of a manifest
  // that need not be one that `check` accepts.
  RegionReading (*region_reading)(const bundle::v1::ModelBundleManifest& manifest);

  // See LeastWeightCount; null if a bundle has no file of weights.
  int64_t (*least_weight_count)(const bundle::v1::ModelBundleManifest& manifest);

  // Of a manifest that has one.
  int transformer_count = 1;
};

// <family>::kManifest, of every family in families.bzl: in <family>/manifest.cc.
#define SIGHTLINE_FAMILY(family)         \
  namespace family {                     \
  extern const FamilyManifest kManifest; \
  }
#include "common/models/families.inc"
#undef SIGHTLINE_FAMILY

// Their names, in bytewise order.
std::vector<absl::string_view> FamilyNames();

// InvalidArgument unless a model can be built from `manifest`: all problems at once, or for a
// family that there is not, those that there are.  Looks at no file.
absl::Status CheckManifest(const bundle::v1::ModelBundleManifest& manifest);

// Model::region_feature_sizes of a model with this manifest; empty for a family that there is
// not, or whose members read the regions.
std::vector<int> RegionFeatureSizesOf(const bundle::v1::ModelBundleManifest& manifest);

// A lower bound of the weights that a manifest describes, which CheckManifest has accepted.
// Compared with the length of the weights file, it keeps a lying manifest from sizing tensors that
// no file fills.
int64_t LeastWeightCount(const bundle::v1::ModelBundleManifest& manifest);

// Stacks of transformer blocks that a model with this manifest has.
int TransformerCountOf(const bundle::v1::ModelBundleManifest& manifest);

// InvalidArgument: there is no family `name`, but these.
absl::Status UnknownFamily(absl::string_view name);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_FAMILY_MANIFESTS_H_
