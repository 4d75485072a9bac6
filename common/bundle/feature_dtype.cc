#include "common/bundle/feature_dtype.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sightline {
namespace {

constexpr Dtype kFeatureDtypes[] = {Dtype::kFloat16, Dtype::kFloat32, Dtype::kInt8};

}  // namespace

std::vector<std::string> FeatureDtypeNames() {
  std::vector<std::string> names;
  for (const Dtype dtype : kFeatureDtypes) names.emplace_back(DtypeName(dtype));
  return names;
}

absl::StatusOr<Dtype> ParseFeatureDtype(absl::string_view name) {
  for (const Dtype dtype : kFeatureDtypes) {
    if (name == DtypeName(dtype)) return dtype;
  }
  return absl::InvalidArgumentError(absl::StrCat("'", absl::CHexEscape(name.substr(0, 100)),
                                                 "' is none of ",
                                                 absl::StrJoin(FeatureDtypeNames(), ", ")));
}

Dtype FeatureDtypeOf(const bundle::v1::GenerationManifest& manifest) {
  return ParseFeatureDtype(manifest.feature_dtype()).value_or(kDefaultFeatureDtype);
}

void SetFeatureDtype(Dtype dtype, bundle::v1::GenerationManifest* manifest) {
  manifest->set_feature_dtype(dtype == kDefaultFeatureDtype ? "" : DtypeName(dtype));
}

}  // namespace sightline
