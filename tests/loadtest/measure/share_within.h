// What part of the samples is as fast as this.
#ifndef SIGHTLINE_TESTS_LOADTEST_MEASURE_SHARE_WITHIN_H_
#define SIGHTLINE_TESTS_LOADTEST_MEASURE_SHARE_WITHIN_H_

#include "absl/time/time.h"
#include "loadtest/measure/latency_histogram.h"

namespace sightline {

// Share of samples that are at most `latency`, or lie in the same bucket; 1 without samples.
inline double ShareWithin(const LatencyHistogram& histogram, absl::Duration latency) {
  if (histogram.count() == 0) return 1;
  if (latency < absl::ZeroDuration()) return 0;
  int64_t within = 0;
  for (const LatencyHistogram::Bucket& bucket : histogram.Buckets()) {
    // A sample was rounded up to whole microseconds.
    if (bucket.low < latency + absl::Microseconds(1)) within += bucket.count;
  }
  return static_cast<double>(within) / static_cast<double>(histogram.count());
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_LOADTEST_MEASURE_SHARE_WITHIN_H_
