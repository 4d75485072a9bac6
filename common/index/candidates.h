// The rows that may be among the best k of a query, while their scores are known but roughly.
#ifndef SIGHTLINE_COMMON_INDEX_CANDIDATES_H_
#define SIGHTLINE_COMMON_INDEX_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/index/vector_index.h"

namespace sightline {

// A row whose score is within `error` of `score`; exactly that where `error` is zero.  Neither is
// NaN; `error` is finite.
struct RoughNeighbor {
  int64_t row = 0;
  float score = 0;
  float error = 0;

  // Rounded, these still are bounds: a score is a float, and rounding keeps order.
  float least() const { return score - error; }
  float most() const { return score + error; }
};

// Not thread-safe.
class Candidates {
 public:
  // The score of a row, which is a number.
  using ExactScore = absl::FunctionRef<float(int64_t row)>;

  explicit Candidates(int k) : k_(k) {}

  // How many of them are kept at most for lists of `k`, and there is memory for no more.
  static int64_t Capacity(int k) { return 2 * int64_t{k} + 64; }
  // How many there is memory for.
  int64_t reserved() const { return static_cast<int64_t>(rows_.capacity()); }

  // Returns a score that k rows have at least (for lists of less: negative infinity) whenever it
  // had to make room.
  float Add(const RoughNeighbor& row, ExactScore exact);
  // Takes those of `others`, beyond the capacity if need be; theirs is given back.
  void Add(Candidates others);

  // Leaves those out that k others beat for certain; returns what Add does.
  float DropBeaten();

  // The best k by their exact scores, best first.  The object is spent.
  std::vector<Neighbor> Take(ExactScore exact);

 private:
  // The best k, whose scores are exact afterwards.
  void Settle(ExactScore exact);

  int k_;
  std::vector<RoughNeighbor> rows_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_CANDIDATES_H_
