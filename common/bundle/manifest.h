// Manifests: how they are read from JSON, checked and written.
//
// A manifest comes from disk, so nothing of it is believed: what parses here has safe
// paths, whole digests and numbers within the bounds that the protos state.  Fields that
// this program does not know are ignored; a higher format_version is refused.
#ifndef SIGHTLINE_COMMON_BUNDLE_MANIFEST_H_
#define SIGHTLINE_COMMON_BUNDLE_MANIFEST_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sightline/bundle/v1/generation.pb.h"
#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

inline constexpr int kModelBundleFormatVersion = 1;
inline constexpr int kGenerationFormatVersion = 1;
inline constexpr absl::string_view kManifestFile = "manifest.json";

// DataLoss, naming the field, if the JSON or a value is malformed; FailedPrecondition if
// the format is newer.
absl::StatusOr<bundle::v1::ModelBundleManifest> ParseModelBundleManifest(absl::string_view json);
absl::StatusOr<bundle::v1::GenerationManifest> ParseGenerationManifest(absl::string_view json);
absl::StatusOr<bundle::v1::CurrentGeneration> ParseCurrentGeneration(absl::string_view json);

// The checks alone, for those who write.  InvalidArgument, or FailedPrecondition for a
// newer format.
absl::Status CheckModelBundleManifest(const bundle::v1::ModelBundleManifest& manifest);
absl::Status CheckGenerationManifest(const bundle::v1::GenerationManifest& manifest);

// JSON for people and machines: proto field names, indented, a newline at the end.
// Equal messages give equal bytes.
std::string ManifestJson(const google::protobuf::Message& manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_MANIFEST_H_
