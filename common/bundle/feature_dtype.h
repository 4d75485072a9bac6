// What the rows of images' item features are stored and sent as: a generation's manifest says it.
#ifndef SIGHTLINE_COMMON_BUNDLE_FEATURE_DTYPE_H_
#define SIGHTLINE_COMMON_BUNDLE_FEATURE_DTYPE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/dtype.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Where nothing else is said.
inline constexpr Dtype kDefaultFeatureDtype = Dtype::kFloat16;

// "float16", "float32" and "int8", which is with a scale a row (item_features.h).
std::vector<std::string> FeatureDtypeNames();

// The one of that name; InvalidArgument, with those that there are, for another.
absl::StatusOr<Dtype> ParseFeatureDtype(absl::string_view name);

// Of a sound manifest (CheckGenerationManifest).
Dtype FeatureDtypeOf(const bundle::v1::GenerationManifest& manifest);

// Makes it the manifest's.  The default is not written, so that all programs understand it.
void SetFeatureDtype(Dtype dtype, bundle::v1::GenerationManifest* manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_FEATURE_DTYPE_H_
