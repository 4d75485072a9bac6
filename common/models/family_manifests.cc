#include "common/models/family_manifests.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;

struct ManifestCheck {
  absl::string_view family;
  absl::Status (*check)(const ModelBundleManifest& manifest);
};

// One line per family.
constexpr ManifestCheck kChecks[] = {
    {"ensemble", &CheckEnsembleManifest}, {"lightningdot", &CheckLightningDotManifest},
    {"m3p", &CheckM3pManifest},           {"oscar", &CheckOscarManifest},
    {"sgraf", &CheckSgrafManifest},       {"torchscript", &CheckTorchScriptManifest},
    {"uniter", &CheckUniterManifest},     {"vldeformer", &CheckVlDeformerManifest},
};

}  // namespace

absl::Status CheckManifest(const ModelBundleManifest& manifest) {
  for (const ManifestCheck& each : kChecks) {
    if (each.family == manifest.family()) return each.check(manifest);
  }
  return UnknownFamily(manifest.family());
}

absl::Status UnknownFamily(absl::string_view name) {
  const std::string known = absl::StrJoin(
      kChecks, ", ",
      [](std::string* out, const ManifestCheck& each) { absl::StrAppend(out, each.family); });
  return absl::InvalidArgumentError(
      absl::StrCat("unknown model family '", name, "'; there are: ", known));
}

}  // namespace sightline
