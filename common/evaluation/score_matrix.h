// Scores of all images with all captions, as the papers' evaluations have them: one matrix that
// both directions read, text to image column by column, image to text row by row.
//
// Scores stay float32: in float16 many tie that did not.
#ifndef SIGHTLINE_COMMON_EVALUATION_SCORE_MATRIX_H_
#define SIGHTLINE_COMMON_EVALUATION_SCORE_MATRIX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/evaluation/query.h"

namespace sightline {

// A view of rows (images) and columns (captions) that somebody else owns.  A value.
class ScoreMatrix {
 public:
  ScoreMatrix() = default;

  // Row by row, or, `by_columns`, column by column.  `scores` has rows * columns of them.
  ScoreMatrix(absl::Span<const float> scores, int64_t rows, int64_t columns,
              bool by_columns = false)
      : scores_(scores.data()),
        rows_(rows),
        columns_(columns),
        row_stride_(by_columns ? 1 : columns),
        column_stride_(by_columns ? rows : 1) {}

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  float at(int64_t row, int64_t column) const {
    return scores_[row * row_stride_ + column * column_stride_];
  }

  int64_t row_stride() const { return row_stride_; }
  int64_t column_stride() const { return column_stride_; }

 private:
  const float* scores_ = nullptr;
  int64_t rows_ = 0, columns_ = 0;
  int64_t row_stride_ = 0, column_stride_ = 0;
};

// What a ranking is made by: a matrix, or the mean of several (the ensembles of SGRAF and T-EMDE,
// whose members' scores need no scaling).  Immutable, thread-safe; views as its members do.
class NamedScores {
 public:
  // InvalidArgument, naming it, for a name that is none (CheckScoresName), no member, or members of
  // unequal shape.
  static absl::StatusOr<NamedScores> Create(std::string name, std::vector<ScoreMatrix> members);

  const std::string& name() const { return name_; }
  int64_t images() const { return members_[0].rows(); }
  int64_t captions() const { return members_[0].columns(); }

  float at(int64_t image, int64_t caption) const;

  // Scores of `queries` (rows for image to text, else columns) with `candidates` (columns, or
  // rows), query by query, into `scores`, which has room for all.  Indices are within the matrix.
  // InvalidArgument, with row and column, for a NaN, which has no place in any order.
  absl::Status Gather(Direction direction, absl::Span<const int> queries,
                      absl::Span<const int> candidates, absl::Span<float> scores) const;

 private:
  NamedScores() = default;
  std::string name_;
  std::vector<ScoreMatrix> members_;  // not empty
};

// InvalidArgument unless it has 1 to 64 of letters, digits, '_', '-' and '.'.
absl::Status CheckScoresName(const std::string& name);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_SCORE_MATRIX_H_
