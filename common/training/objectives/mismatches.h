// Pairs of a text and an image that do not belong together, drawn at random.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_OBJECTIVES_MISMATCHES_H_
#define SIGHTLINE_COMMON_TRAINING_OBJECTIVES_MISMATCHES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/training/random.h"

namespace sightline {

// A text of one row with the image of another, or of the same.
struct RowPair {
  int64_t text = 0;
  int64_t image = 0;

  bool matches() const { return text == image; }
};

// Where the wrong half of a pair comes from.
struct MismatchPool {
  absl::Span<const int64_t> rows;
  // Whether text and image of the two may belong together; a row is related to itself, and need
  // not be told so.
  std::function<bool(int64_t row, int64_t other)> related;
  // Probability that the text is the wrong half, else it is the image.
  double text_share = 0.5;
};

// FailedPrecondition if everything in the pool is related to `row`.
absl::StatusOr<RowPair> DrawMismatch(int64_t row, const MismatchPool& pool, Random* random);

// For each row its own pair, then a wrong one: OSCAR's matched and mismatched pairs (Li et al.,
// 2020), and 1:1 negatives of "Retrieve Fast, Rerank Smart" (Geigle et al., 2022), both with
// half of the wrong ones a text.  What is drawn for a row depends on `seed`, `step` and the row.
absl::StatusOr<std::vector<RowPair>> MatchedAndMismatched(absl::Span<const int64_t> rows,
                                                          const MismatchPool& pool, uint64_t seed,
                                                          uint64_t step);

// For each row one pair, wrong with probability `wrong_share`: image-text matching ("UNITER",
// Chen et al., 2020; 0.5, and text_share 0).
absl::StatusOr<std::vector<RowPair>> MatchedOrMismatched(absl::Span<const int64_t> rows,
                                                         const MismatchPool& pool,
                                                         double wrong_share, uint64_t seed,
                                                         uint64_t step);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_OBJECTIVES_MISMATCHES_H_
