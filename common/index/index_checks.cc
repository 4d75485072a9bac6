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
  constexpr int64_t kMostFloats = std::numeric_limits<int64_t>::max() / sizeof(float);
  if (vectors.rows > kMostFloats / vectors.stride) {
    return absl::InvalidArgumentError(absl::StrCat("a matrix of ", vectors.rows,
                                                   " rows with stride ", vectors.stride,
                                                   " exceeds the address space"));
  }
  if (vectors.rows > 0 && vectors.data == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("no data for a matrix of ", vectors.rows, " rows"));
  }
  if (reinterpret_cast<uintptr_t>(vectors.data) % alignof(float) != 0) {
    return absl::InvalidArgumentError("the matrix does not start at a multiple of four bytes");
  }
  return absl::OkStatus();
}

absl::Status CheckSearch(const EmbeddingMatrix& queries, const SearchOptions& options,
                         int dimension, const CallContext& call) {
  if (queries.dimension() != dimension) {
    return absl::InvalidArgumentError(absl::StrCat("index search: queries have dimension ",
                                                   queries.dimension(), ", the index has ",
                                                   dimension));
  }
  if (options.top_k < 1 || options.top_k > limits::kMaxNeighbors) {
    return absl::InvalidArgumentError(absl::StrCat("index search: top_k is ", options.top_k,
                                                   "; it must be from 1 to ",
                                                   limits::kMaxNeighbors));
  }
  if (!AllFinite(queries.values())) {
    return absl::InvalidArgumentError("index search: a query holds a NaN or an infinity");
  }
  return call.Check("index search");
}

}  // namespace sightline
