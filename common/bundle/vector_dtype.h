// What embeddings are stored as: a generation's manifest says it, and the file itself.
#ifndef SIGHTLINE_COMMON_BUNDLE_VECTOR_DTYPE_H_
#define SIGHTLINE_COMMON_BUNDLE_VECTOR_DTYPE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/dtype.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Where nothing else is said.
inline constexpr Dtype kDefaultVectorDtype = Dtype::kFloat32;

// "float32" and "float16".
std::vector<std::string> VectorDtypeNames();

bool IsVectorDtype(Dtype dtype);

// The one of that name; InvalidArgument, with those that there are, for another.
absl::StatusOr<Dtype> ParseVectorDtype(absl::string_view name);

// Of a sound manifest (CheckGenerationManifest).
Dtype VectorDtypeOf(const bundle::v1::GenerationManifest& manifest);

// Makes it the manifest's.  The default is not written, so that all programs understand it.
void SetVectorDtype(Dtype dtype, bundle::v1::GenerationManifest* manifest);

// The numbers of a row as they are stored, `to.size()` of them, exactly.
void WidenVector(const char* from, Dtype dtype, absl::Span<float> to);

// What is stored of `numbers`, which are finite: `to` has room for as many of `dtype`.  False, with
// anything in `to`, if one is beyond what float16 holds, which is 65504 as it is rounded.
bool NarrowVector(absl::Span<const float> numbers, Dtype dtype, char* to);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_VECTOR_DTYPE_H_
