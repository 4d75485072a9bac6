#include "common/bundle/vector_dtype.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/float16.h"

namespace sightline {
namespace {

constexpr Dtype kVectorDtypes[] = {Dtype::kFloat32, Dtype::kFloat16};

// From here on the nearest number of float16 is infinity: halfway from 65504 to what would be next.
constexpr float kBeyondFloat16 = 65520.0f;

}  // namespace

std::vector<std::string> VectorDtypeNames() {
  std::vector<std::string> names;
  for (const Dtype dtype : kVectorDtypes) names.emplace_back(DtypeName(dtype));
  return names;
}

bool IsVectorDtype(Dtype dtype) {
  return std::find(std::begin(kVectorDtypes), std::end(kVectorDtypes), dtype) !=
         std::end(kVectorDtypes);
}

absl::StatusOr<Dtype> ParseVectorDtype(absl::string_view name) {
  for (const Dtype dtype : kVectorDtypes) {
    if (name == DtypeName(dtype)) return dtype;
  }
  return absl::InvalidArgumentError(absl::StrCat("'", absl::CHexEscape(name.substr(0, 100)),
                                                 "' is none of ",
                                                 absl::StrJoin(VectorDtypeNames(), ", ")));
}

Dtype VectorDtypeOf(const bundle::v1::GenerationManifest& manifest) {
  return ParseVectorDtype(manifest.vector_dtype()).value_or(kDefaultVectorDtype);
}

void SetVectorDtype(Dtype dtype, bundle::v1::GenerationManifest* manifest) {
  manifest->set_vector_dtype(dtype == kDefaultVectorDtype ? "" : DtypeName(dtype));
}

void WidenVector(const char* from, Dtype dtype, absl::Span<float> to) {
  if (dtype == Dtype::kFloat16) {
    Float16ToFloat32(from, to.size(), to.data());
  } else {
    std::memcpy(to.data(), from, to.size() * sizeof(float));
  }
}

bool NarrowVector(absl::Span<const float> numbers, Dtype dtype, char* to) {
  if (dtype != Dtype::kFloat16) {
    std::memcpy(to, numbers.data(), numbers.size() * sizeof(float));
    return true;
  }
  Float32ToFloat16(numbers.data(), numbers.size(), to);
  return std::none_of(numbers.begin(), numbers.end(),
                      [](float number) { return std::abs(number) >= kBeyondFloat16; });
}

}  // namespace sightline
