// Which rows of a training set are learnt from, and which of them belong together.
#ifndef SIGHTLINE_COMMON_TRAINING_TRAINING_ROWS_H_
#define SIGHTLINE_COMMON_TRAINING_TRAINING_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/training/training_set.h"

namespace sightline {

// Immutable, thread-safe.  Reads nothing of held-out rows but that they are held out.
class TrainingRows {
 public:
  TrainingRows(const TrainingSet& set, bool with_validation);

  // Rows with captions that may be learnt from, in order.
  const std::vector<int64_t>& captioned() const { return captioned_; }
  // These and the distractors, in order: whose pictures may be shown.
  const std::vector<int64_t>& pictured() const { return pictured_; }

  // Place of `row` in captioned(), -1 if it is not there.
  int64_t captioned_index(int64_t row) const { return captioned_index_[row]; }

  // Other pictured rows that `row` must never be told from: they have a caption of the
  // same words, or the same picture.  Sorted.
  absl::Span<const int64_t> relatives(int64_t row) const {
    return absl::MakeConstSpan(relatives_[row]);
  }
  // Whether `row` must not be told from `other`; a row not from itself.
  bool Related(int64_t row, int64_t other) const;

 private:
  void FindRelatives(const TrainingSet& set);

  std::vector<int64_t> captioned_;
  std::vector<int64_t> pictured_;
  std::vector<int64_t> captioned_index_;
  std::vector<std::vector<int64_t>> relatives_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_TRAINING_ROWS_H_
