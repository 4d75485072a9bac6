// How a cross-encoder's scores are used, as its bundle declares: by direction, with "none"
// among the values.
//
// Manifests say it in three fields, the oldest of which is for both directions; only this
// file reads and writes those.
#ifndef SIGHTLINE_COMMON_BUNDLE_DECLARED_COMBINATIONS_H_
#define SIGHTLINE_COMMON_BUNDLE_DECLARED_COMBINATIONS_H_

#include "absl/status/statusor.h"
#include "common/embedding/score.h"
#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

// In a manifest, of a direction in which nothing is reranked by default.
inline constexpr char kNoCombination[] = "none";

struct DeclaredCombinations {
  DeclaredCombination text_to_image;
  DeclaredCombination image_to_text;
};

// What the spec says.  InvalidArgument, naming the field, for a name that is none of them or
// a lambda that is not from 0 to 1.
absl::StatusOr<DeclaredCombinations> ReadCombinations(const bundle::v1::CrossEncoderSpec& spec);

// Makes the spec say it; its other fields stay.  A direction without reranking by default has
// no combination of its own in a manifest: whoever asks gets that of text to image, which
// older programs take for both directions.
void WriteCombinations(const DeclaredCombinations& declared, bundle::v1::CrossEncoderSpec* spec);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_DECLARED_COMBINATIONS_H_
