// The best k of a query by their exact scores, found from rough ones: as few rows as possible are
// scored exactly, since they may lie on a disk.
//
// Beside Candidates, which asks for the scores of rows in memory one by one and holds some 2 k.
#ifndef SIGHTLINE_COMMON_INDEX_ROUGH_BEST_H_
#define SIGHTLINE_COMMON_INDEX_ROUGH_BEST_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/index/candidates.h"
#include "common/index/vector_index.h"

namespace sightline {

// Not thread-safe.  A row of an infinite error is one of whose score nothing is known.
class RoughBest {
 public:
  // The scores of rows, which ascend, to as many numbers; NaN for one that is never found.
  using ExactScores =
      absl::FunctionRef<absl::Status(absl::Span<const int64_t> rows, absl::Span<float> scores)>;

  // Of `k` >= 1, in memory for at most `capacity` rows, or 2 k + 64 if that is more.
  RoughBest(int k, int64_t capacity);

  // A score that k of the rows have at least, as far as it is known: who is sure to score less need
  // not be added.
  float floor() const { return floor_; }

  void Add(const RoughNeighbor& row) { rows_.push_back(row); }
  // Whether MakeRoom is due; then nothing more is added before.
  bool full() const { return static_cast<int64_t>(rows_.size()) >= limit_; }
  // Leaves out what k others beat for certain, and raises the floor.  Only where too many are left,
  // as of thousands of equal rows, are they scored.
  absl::Status MakeRoom(ExactScores exact);

  // Takes those of `other`, beyond the capacity if need be.
  void Merge(RoughBest other);

  // The best k, best first, of the rows whose score is a number.  Scores rows from the one that may
  // be best on, until no other can be among them.  The object is spent.
  absl::StatusOr<std::vector<Neighbor>> Take(ExactScores exact);

 private:
  void DropBeaten();
  // Scores rows `begin` to `end` of rows_, and moves those that are numbers to exact_.
  absl::Status Score(size_t begin, size_t end, ExactScores exact);
  // Leaves the best k in exact_.
  void KeepBest();

  size_t k_;
  int64_t capacity_;
  int64_t limit_;  // rows at which there is a look at what is beaten
  float floor_ = -std::numeric_limits<float>::infinity();
  std::vector<RoughNeighbor> rows_;
  std::vector<Neighbor> exact_;  // scored already, in any order
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_ROUGH_BEST_H_
