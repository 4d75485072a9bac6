// How long searches of a shard take here, beside what was measured where its index was built.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_PACE_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_PACE_H_

#include <atomic>
#include <cmath>

namespace sightline {

// Thread-safe.
class SearchPace {
 public:
  // Of a search lately: seconds from its request to its answer, waiting included, to those that
  // its effort promised.  Greater than one where this machine is slower, or busy; one until
  // something was measured.
  double factor() const { return std::exp(log_factor_.load(std::memory_order_relaxed)); }

  // Takes a search in that was answered.  An eighth of the difference in logarithms, so that a
  // single hiccup of a thousand times counts as one of little more than twice.  What is not
  // positive says nothing.
  void Note(double promised_seconds, double measured_seconds) {
    if (!(promised_seconds > 0) || !(measured_seconds > 0)) return;
    constexpr double kShare = 1.0 / 8;
    const double seen = std::log(measured_seconds / promised_seconds);
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
