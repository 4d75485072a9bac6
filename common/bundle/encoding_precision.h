// How precisely a generation's embeddings were computed: its manifest says it.
#ifndef SIGHTLINE_COMMON_BUNDLE_ENCODING_PRECISION_H_
#define SIGHTLINE_COMMON_BUNDLE_ENCODING_PRECISION_H_

#include <string>

#include "absl/strings/string_view.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

inline constexpr absl::string_view kDefaultEncodingPrecision = "float32";

// Of a sound manifest (CheckGenerationManifest).
inline std::string EncodingPrecisionOf(const bundle::v1::GenerationManifest& manifest) {
  return manifest.has_encoding() ? manifest.encoding().precision()
                                 : std::string(kDefaultEncodingPrecision);
}

// Makes it the manifest's, with the share of float32's ten best that it finds.  The default, which
// is float32, is not written.
inline void SetEncodingPrecision(const std::string& precision, double agreement,
                                 bundle::v1::GenerationManifest* manifest) {
  manifest->clear_encoding();
  if (precision == kDefaultEncodingPrecision) return;
  manifest->mutable_encoding()->set_precision(precision);
  manifest->mutable_encoding()->set_agreement(agreement);
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_ENCODING_PRECISION_H_
