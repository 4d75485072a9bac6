// Embeddings in memory: a dense fp32 matrix, one row per item or query.
#ifndef SIGHTLINE_COMMON_EMBEDDING_EMBEDDING_MATRIX_H_
#define SIGHTLINE_COMMON_EMBEDDING_EMBEDDING_MATRIX_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace sightline {

// A value.  Row-major, rows * dimension floats without gaps.
class EmbeddingMatrix {
 public:
  EmbeddingMatrix() = default;
  // All zeros.
  EmbeddingMatrix(int64_t rows, int dimension)
      : rows_(rows), dimension_(dimension), values_(rows * dimension) {}

  int64_t rows() const { return rows_; }
  int dimension() const { return dimension_; }

  absl::Span<const float> row(int64_t i) const {
    return absl::MakeConstSpan(values_).subspan(i * dimension_, dimension_);
  }
  absl::Span<float> mutable_row(int64_t i) {
    return absl::MakeSpan(values_).subspan(i * dimension_, dimension_);
  }

  const float* data() const { return values_.data(); }
  float* mutable_data() { return values_.data(); }
  absl::Span<const float> values() const { return values_; }

 private:
  int64_t rows_ = 0;
  int dimension_ = 0;
  std::vector<float> values_;
};

// Scales each row to Euclidean length one; a zero row stays zero.
void NormalizeRows(EmbeddingMatrix& matrix);

// Whether every number is finite (no NaN, no infinity).
bool AllFinite(absl::Span<const float> values);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EMBEDDING_EMBEDDING_MATRIX_H_
