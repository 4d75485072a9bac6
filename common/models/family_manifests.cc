#include "common/models/family_manifests.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;

// Null if there is none.
const FamilyManifest* Find(absl::string_view family) {
#define SIGHTLINE_FAMILY(name) \
  if (family == #name) return &name::kManifest;
#include "common/models/families.inc"
#undef SIGHTLINE_FAMILY
  return nullptr;
}

}  // namespace

std::vector<absl::string_view> FamilyNames() {
  return {
#define SIGHTLINE_FAMILY(name) #name,
#include "common/models/families.inc"
#undef SIGHTLINE_FAMILY
  };
}

absl::Status CheckManifest(const ModelBundleManifest& manifest) {
  const FamilyManifest* family = Find(manifest.family());
  return family == nullptr ? UnknownFamily(manifest.family()) : family->check(manifest);
}

std::vector<int> RegionFeatureSizesOf(const ModelBundleManifest& manifest) {
  const FamilyManifest* family = Find(manifest.family());
  if (family == nullptr || family->region_reading == nullptr) return {};
  return FeatureSizesOf(family->region_reading(manifest));
}

int64_t LeastWeightCount(const ModelBundleManifest& manifest) {
  const FamilyManifest* family = Find(manifest.family());
  const bool none = family == nullptr || family->least_weight_count == nullptr;
  return none ? 0 : family->least_weight_count(manifest);
}

int TransformerCountOf(const ModelBundleManifest& manifest) {
  const FamilyManifest* family = Find(manifest.family());
  return family == nullptr || !manifest.has_transformer() ? 0 : family->transformer_count;
}

absl::Status UnknownFamily(absl::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown model family '", name, "'; there are: ", absl::StrJoin(FamilyNames(), ", ")));
}

}  // namespace sightline
