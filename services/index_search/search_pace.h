// How long searches of a shard take here, beside what was measured where its index was built.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_PACE_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_PACE_H_

#include <atomic>
#include <cmath>

#include "absl/time/time.h"

namespace sightline {

// A search is taken to last kHandingOver, whatever it looks for, and then a factor times what its
// effort promised.  Thread-safe.
class SearchPace {
 public:
  // Of a request that is searched for as it comes, where it came in: what is done around the
  // search.
  static constexpr absl::Duration kHandingOver = absl::Microseconds(50);

  // Of searches lately.  Greater than one where this machine is slower, or busy; one until
  // something was measured.
  double factor() const { return std::exp(log_factor_.load(std::memory_order_relaxed)); }

  // Seconds that an effort may promise, so that its search ends within `budget`.
  double PromiseWithin(absl::Duration budget) const {
    return absl::ToDoubleSeconds(budget - kHandingOver) / factor();
  }

  // Takes a search in that was answered.  An eighth of the difference in logarithms, so that a
  // single hiccup of a thousand times counts as one of little more than twice.  What was promised
  // nothing, or took no longer than handing over, says nothing.
  void Note(double promised_seconds, absl::Duration measured) {
    const double seconds = absl::ToDoubleSeconds(measured - kHandingOver);
    if (!(promised_seconds > 0) || !(seconds > 0)) return;
    constexpr double kShare = 1.0 / 8;
    const double seen = std::log(seconds / promised_seconds);
    double before = log_factor_.load(std::memory_order_relaxed);
    while (!log_factor_.compare_exchange_weak(before, before + kShare * (seen - before),
                                              std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<double> log_factor_{0};
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_PACE_H_
