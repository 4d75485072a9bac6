// A latency histogram out of what a report tells of it.
#ifndef SIGHTLINE_LOADTEST_REPORT_HISTOGRAM_RESTORE_H_
#define SIGHTLINE_LOADTEST_REPORT_HISTOGRAM_RESTORE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "loadtest/measure/latency_histogram.h"

namespace sightline {

struct HistogramParts {
  absl::Duration min, mean, max;
  std::vector<std::pair<absl::Duration, int64_t>> buckets;  // lower edge, samples (1 or more)
};

// A histogram with the same buckets, min and max, and so with the same quantiles; its mean
// is within a nanosecond.  InvalidArgument, as what the buckets are wrong about, if no
// histogram has these parts.
absl::StatusOr<LatencyHistogram> RestoreHistogram(const HistogramParts& parts);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_HISTOGRAM_RESTORE_H_
