// What a matrix of scores is, as the program that wrote it says beside it, in NAME.npy.json, where
// score_timing.h finds what it took:
//
//   {"items": "9f2c...", "score_kind": "softmax_match"}
//
//   items        ItemsDigest of its rows and columns; missing: whoever reads it has to know
//   score_kind   what a cross-encoder's numbers are (score.h); missing: likewise
//
// Other keys are passed over.
#ifndef SIGHTLINE_COMMON_EVALUATION_SCORE_ORIGIN_H_
#define SIGHTLINE_COMMON_EVALUATION_SCORE_ORIGIN_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/embedding/score.h"
#include "common/evaluation/matrix_items.h"

namespace sightline {

// A value.
struct ScoreOrigin {
  absl::optional<ScoreKind> kind;
};

// The file's text.  InvalidArgument for what is no such object, and for a matrix of other rows or
// columns than `items`.
absl::StatusOr<ScoreOrigin> ParseScoreOrigin(absl::string_view text, const MatrixItems& items);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_SCORE_ORIGIN_H_
