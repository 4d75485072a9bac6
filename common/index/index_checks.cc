#include "common/index/index_checks.h"

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"

namespace sightline {

absl::Status CheckView(const VectorView& vectors) {
  if (vectors.dimension < 1 || vectors.stride < vectors.dimension || vectors.rows < 0) {
    return absl::InvalidArgumentError(absl::StrCat("not a matrix: ", vectors.rows,
                                                   " rows of dimension ", vectors.dimension,
                                                   " with stride ", vectors.stride));
  }
  if (vectors.dtype != Dtype::kFloat32 && vectors.dtype != Dtype::kFloat16) {
    return absl::InvalidArgumentError(
        absl::StrCat("a matrix of ", DtypeName(vectors.dtype), "; rows are float32 or float16"));
  }
  constexpr int64_t kMostFloats = std::numeric_limits<int64_t>::max() / sizeof(float);
  if (vectors.rows > kMostFloats / vectors.stride) {
    return absl::InvalidArgumentError(absl::StrCat("a matrix of ", vectors.rows,
                                                   " rows with stride ", vectors.stride,
                                                   " exceeds the address space"));
  }
  if (vectors.rows > 0 && vectors.data == nullptr && vectors.reader == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("no data for a matrix of ", vectors.rows, " rows"));
  }
  if (reinterpret_cast<uintptr_t>(vectors.data) % DtypeSize(vectors.dtype) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("the matrix does not start at a multiple of ",
                                                   DtypeSize(vectors.dtype), " bytes"));
  }
  return absl::OkStatus();
}

absl::Status CheckSearch(const EmbeddingMatrix& queries, const SearchOptions& options,
                         const VectorView& vectors, const CallContext& call) {
  if (queries.dimension() != vectors.dimension) {
    return absl::InvalidArgumentError(absl::StrCat("index search: queries have dimension ",
                                                   queries.dimension(), ", the index has ",
                                                   vectors.dimension));
  }
  if (options.top_k < 1 || options.top_k > limits::kMaxNeighbors) {
    return absl::InvalidArgumentError(absl::StrCat("index search: top_k is ", options.top_k,
                                                   "; it must be from 1 to ",
                                                   limits::kMaxNeighbors));
  }
  if (options.effort < 1 || options.effort > limits::kMaxEffort) {
    return absl::InvalidArgumentError(absl::StrCat("index search: effort is ", options.effort,
                                                   "; it must be from 1 to ", limits::kMaxEffort));
  }
  if (options.among != nullptr && options.among->universe() != vectors.rows) {
    return absl::InvalidArgumentError(absl::StrCat("index search: a filter of ",
                                                   options.among->universe(),
                                                   " rows, the index has ", vectors.rows));
  }
  if (!AllFinite(queries.values())) {
    return absl::InvalidArgumentError("index search: a query holds a NaN or an infinity");
  }
  return call.Check("index search");
}

absl::Status CheckNoParameters(const bundle::v1::IndexSpec& spec) {
  if (spec.parameters_case() == bundle::v1::IndexSpec::PARAMETERS_NOT_SET) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("index_spec: kind '", spec.kind(), "' has no parameters"));
}

}  // namespace sightline
