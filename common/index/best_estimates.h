// The rows with the best estimates that a search has seen.
#ifndef SIGHTLINE_COMMON_INDEX_BEST_ESTIMATES_H_
#define SIGHTLINE_COMMON_INDEX_BEST_ESTIMATES_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sightline {

struct Estimate {
  float value = 0;
  int32_t row = 0;

  // The better one is the lesser.
  bool operator<(const Estimate& other) const {
    return value != other.value ? value > other.value : row < other.row;
  }
};

// Keeps the best `count`, by value and then by row: the same ones in whatever order they come, and
// of whatever parts.  Not thread-safe.
class BestEstimates {
 public:
  // `count` >= 1.
  explicit BestEstimates(int64_t count) : count_(count) {}

  // What is below it can be none of the best.
  float limit() const { return limit_; }

  // `value` is a number.
  void Offer(float value, int32_t row) {
    if (value < limit_) return;
    kept_.push_back({value, row});
    // Room for as many again, so that an offer costs a few steps however many there are.
    if (static_cast<int64_t>(kept_.size()) >= 2 * count_ + kSlack) DropWorst();
  }

  void Add(const BestEstimates& others) {
    for (const Estimate& other : others.kept_) Offer(other.value, other.row);
  }

  // The `n`th best value, from 1 on; minus infinity if there are not so many.  `n` is at most
  // `count`.  Takes a step for each that is kept.
  float ValueAt(int64_t n) const {
    if (static_cast<int64_t>(kept_.size()) < n) return -std::numeric_limits<float>::infinity();
    std::vector<Estimate> kept = kept_;
    std::nth_element(kept.begin(), kept.begin() + (n - 1), kept.end());
    return kept[n - 1].value;
  }

  // In no order.  The object is spent.
  std::vector<Estimate> Take() {
    if (static_cast<int64_t>(kept_.size()) > count_) DropWorst();
    return std::move(kept_);
  }

 private:
  static constexpr int64_t kSlack = 64;

  void DropWorst() {
    std::nth_element(kept_.begin(), kept_.begin() + (count_ - 1), kept_.end());
    kept_.resize(count_);
    limit_ = kept_.back().value;
  }

  const int64_t count_;
  float limit_ = -std::numeric_limits<float>::infinity();
  std::vector<Estimate> kept_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_BEST_ESTIMATES_H_
