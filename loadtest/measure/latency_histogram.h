// Latencies in buckets whose width grows with the latency: a bounded relative error at any
// size, in constant memory.
#ifndef SIGHTLINE_LOADTEST_MEASURE_LATENCY_HISTOGRAM_H_
#define SIGHTLINE_LOADTEST_MEASURE_LATENCY_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace sightline {

// Counts whole microseconds, rounded up.  Log-linear: each power of two of them is cut into
// kBucketsPerOctave equal parts, so a quantile is at most 1 / kBucketsPerOctave above the
// rounded sample that it stands for, and never below it.  Below 2 * kBucketsPerOctave
// microseconds each has a bucket of its own.  A value; not thread-safe.
class LatencyHistogram {
 public:
  static constexpr int kBucketsPerOctave = 128;
  // A quantile is told only with so many samples beyond it: fewer are an anecdote.
  static constexpr int64_t kSamplesBeyond = 10;
  static constexpr absl::Duration kLongest = absl::Hours(1);  // longer ones count as this

  // In whole nanoseconds, the rest is cut.  A negative latency counts as zero.  `times` below one
  // records nothing.
  void Record(absl::Duration latency, int64_t times = 1);
  void Merge(const LatencyHistogram& other);

  int64_t count() const { return count_; }
  // Of the samples as they came, between zero and kLongest; zero without samples.
  absl::Duration min() const { return min_; }
  absl::Duration max() const { return max_; }
  absl::Duration mean() const;

  // The longest latency that would share the bucket of the sample at rank
  // ceil(share * count), at most max().  None if fewer than kSamplesBeyond samples lie above
  // that rank.  0 < share < 1.
  absl::optional<absl::Duration> Quantile(double share) const;

  struct Bucket {
    absl::Duration low, high;  // low <= sample, rounded up, < high
    int64_t count = 0;
  };
  // Those that hold samples, ascending.
  std::vector<Bucket> Buckets() const;

  // What a histogram can be made of again.
  struct Parts {
    absl::Duration min, mean, max;
    std::vector<Bucket> buckets;  // `high` is not looked at
  };
  // The histogram that tells these of itself; none if there is no such histogram.
  static absl::optional<LatencyHistogram> Restore(const Parts& parts);

  // What the counts take.
  size_t bytes() const { return counts_.size() * sizeof(counts_[0]); }

 private:
  // Makes room for `bucket`.
  void Reach(int bucket);

  std::vector<int64_t> counts_;  // of buckets first_, first_ + 1, ...
  int first_ = 0;
  int64_t count_ = 0;
  absl::Duration min_, max_, sum_;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_MEASURE_LATENCY_HISTOGRAM_H_
