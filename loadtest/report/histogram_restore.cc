#include "loadtest/report/histogram_restore.h"

#include <algorithm>

namespace sightline {
namespace {

absl::Status NoHistogram() {
  return absl::InvalidArgumentError(
      "must be the buckets of a latency histogram, ascending, with min_ns in the first, max_ns in "
      "the last and mean_ns a mean that they can have");
}

// Samples at `place` of the way through each bucket (0: its lower edge), but for one at min
// and one at max, as far as there are so many.
LatencyHistogram Fill(const HistogramParts& parts,
                      const std::vector<LatencyHistogram::Bucket>& buckets, double place) {
  LatencyHistogram histogram;
  for (size_t i = 0; i < buckets.size(); ++i) {
    const LatencyHistogram::Bucket& bucket = buckets[i];
    int64_t left = bucket.count;
    if (i == 0) {
      histogram.Record(parts.min);
      --left;
    }
    if (i + 1 == buckets.size() && left > 0) {
      histogram.Record(parts.max);
      --left;
    }
    // A bucket's samples are those that, rounded up to microseconds, lie in it.
    const absl::Duration low =
        std::max(bucket.low - absl::Microseconds(1) + absl::Nanoseconds(1), parts.min);
    const absl::Duration high = std::min(bucket.high - absl::Microseconds(1), parts.max);
    if (left > 0) histogram.Record(low + place * (high - low), left);
  }
  return histogram;
}

bool SameBuckets(const HistogramParts& parts,
                 const std::vector<LatencyHistogram::Bucket>& buckets) {
  return std::equal(parts.buckets.begin(), parts.buckets.end(), buckets.begin(), buckets.end(),
                    [](const auto& part, const LatencyHistogram::Bucket& bucket) {
                      return part.first == bucket.low && part.second == bucket.count;
                    });
}

}  // namespace

absl::StatusOr<LatencyHistogram> RestoreHistogram(const HistogramParts& parts) {
  LatencyHistogram at_edges;
  for (const auto& [low, count] : parts.buckets) at_edges.Record(low, count);
  const std::vector<LatencyHistogram::Bucket> buckets = at_edges.Buckets();
  if (parts.min > parts.max) return NoHistogram();
  // A histogram remembers a sum, not its samples: moving all of them through their buckets
  // alike reaches every mean that there can be.
  const absl::Duration lowest = Fill(parts, buckets, 0).mean();
  const absl::Duration highest = Fill(parts, buckets, 1).mean();
  const absl::Duration slack = absl::Nanoseconds(2);
  if (parts.mean < lowest - slack || parts.mean > highest + slack) return NoHistogram();
  const double place =
      highest > lowest
          ? std::clamp(absl::FDivDuration(parts.mean - lowest, highest - lowest), 0.0, 1.0)
          : 0.0;
  const LatencyHistogram histogram = Fill(parts, buckets, place);
  if (!SameBuckets(parts, histogram.Buckets())) return NoHistogram();
  return histogram;
}

}  // namespace sightline
