// How long batches take by their cost: t(c) = a + b c, learnt from those that were done.
//
//   BatchTimes times;
//   times.Learn(cost, elapsed);
//   absl::Duration next = times.Estimate(200);
//
// THE MODEL.  Costs fall into classes, each twice as wide as the one before.  Of each class
// the last batches are kept, and their median time speaks for it: a stall is not felt, a
// change of pace is after three batches, and thousands of lone queries do not make the one
// large batch forgotten.  a and b are the line through the classes with the least squares of
// relative error, neither of them negative.
//
// Nothing is said of costs beyond the largest that was measured: they are taken to last as long
// as that one.  Whoever assumed in proportion would refuse after lone queries a burst that is
// one batch for the machine, and so never find out.  Whoever lets it in knows after one batch.
#ifndef SIGHTLINE_COMMON_BATCHING_BATCH_TIMES_H_
#define SIGHTLINE_COMMON_BATCHING_BATCH_TIMES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace sightline {

// Not thread-safe.
class BatchTimes {
 public:
  // A batch of `cost`, at least 1, took `elapsed`.
  void Learn(int64_t cost, absl::Duration elapsed);

  // How long one of `cost` will take; zero if nothing was learnt.
  absl::Duration Estimate(double cost) const;

 private:
  struct Batch {
    double cost = 0;
    double seconds = 0;
  };
  // The last batches of costs from 2^k to 2^(k+1) - 1, the newest at the end.
  using SizeClass = std::vector<Batch>;

  double MostPlausible(double cost) const;
  static Batch Typical(const SizeClass& batches);
  void Fit();

  std::array<SizeClass, 63> classes_;
  double overhead_seconds_ = 0;
  double seconds_per_cost_ = 0;
  double largest_cost_ = 0;  // of those remembered
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BATCHING_BATCH_TIMES_H_
