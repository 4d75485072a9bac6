#include "loadtest/measure/latency_histogram.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace sightline {
namespace {

constexpr int kPerOctave = LatencyHistogram::kBucketsPerOctave;
constexpr int kPerOctaveBits = 7;
static_assert(1 << kPerOctaveBits == kPerOctave, "an octave is cut by shifting");

// Room is made for so many buckets at a time, so that a falling minimum does not move the
// counts again and again.
constexpr int kChunk = 32;

int64_t RoundedUpMicroseconds(absl::Duration latency) {
  const int64_t whole = absl::ToInt64Microseconds(latency);
  return absl::Microseconds(whole) < latency ? whole + 1 : whole;
}

// The first kPerOctave buckets are one microsecond wide; after them, each kPerOctave are
// twice as wide as those before, from the second octave on.
int BucketOf(int64_t microseconds) {
  if (microseconds < kPerOctave) return static_cast<int>(microseconds);
  const int octave = 63 - __builtin_clzll(static_cast<uint64_t>(microseconds));
  const int shift = octave - kPerOctaveBits;
  return shift * kPerOctave + static_cast<int>(microseconds >> shift);
}

int BucketOfLatency(absl::Duration latency) {
  latency = std::clamp(latency, absl::ZeroDuration(), LatencyHistogram::kLongest);
  return BucketOf(RoundedUpMicroseconds(latency));
}

int ShiftOf(int bucket) {
  return std::max(0, bucket / kPerOctave - 1);
}

int64_t LowOf(int bucket) {
  const int shift = ShiftOf(bucket);
  return static_cast<int64_t>(bucket - shift * kPerOctave) << shift;
}

int64_t HighOf(int bucket) {
  return LowOf(bucket) + (int64_t{1} << ShiftOf(bucket));
}

}  // namespace

void LatencyHistogram::Reach(int bucket) {
  const int begin = bucket / kChunk * kChunk;
  if (counts_.empty()) first_ = begin;
  if (begin < first_) {
    counts_.insert(counts_.begin(), static_cast<size_t>(first_ - begin), 0);
    first_ = begin;
  }
  const size_t needed = static_cast<size_t>(begin + kChunk - first_);
  if (needed > counts_.size()) counts_.resize(needed, 0);
}

void LatencyHistogram::Record(absl::Duration latency, int64_t times) {
  if (times < 1) return;
  // As reports tell it: a fraction of a nanosecond above an edge would be in another bucket there.
  latency = absl::Trunc(std::clamp(latency, absl::ZeroDuration(), kLongest), absl::Nanoseconds(1));
  const int bucket = BucketOfLatency(latency);
  Reach(bucket);
  counts_[bucket - first_] += times;
  min_ = count_ == 0 ? latency : std::min(min_, latency);
  max_ = std::max(max_, latency);
  sum_ += times == 1 ? latency : latency * times;
  count_ += times;
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  if (other.count_ == 0) return;
  // Both ends, so that the loop below finds room for all.
  Reach(other.first_);
  Reach(other.first_ + static_cast<int>(other.counts_.size()) - 1);
  const int offset = other.first_ - first_;
  for (size_t i = 0; i < other.counts_.size(); ++i) counts_[offset + i] += other.counts_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
}

absl::Duration LatencyHistogram::mean() const {
  return count_ == 0 ? absl::ZeroDuration() : sum_ / count_;
}

absl::optional<absl::Duration> LatencyHistogram::Quantile(double share) const {
  // 0.07 * 100 is a little more than 7, and yet its rank is 7.
  const double exact = share * static_cast<double>(count_);
  const int64_t rank = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(exact - 1e-6)));
  if (count_ - rank < kSamplesBeyond) return absl::nullopt;
  int64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) {
      const int bucket = first_ + static_cast<int>(i);
      return std::min(absl::Microseconds(HighOf(bucket) - 1), max_);
    }
  }
  return max_;
}

std::vector<LatencyHistogram::Bucket> LatencyHistogram::Buckets() const {
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const int bucket = first_ + static_cast<int>(i);
    buckets.push_back(
        {absl::Microseconds(LowOf(bucket)), absl::Microseconds(HighOf(bucket)), counts_[i]});
  }
  return buckets;
}

absl::optional<LatencyHistogram> LatencyHistogram::Restore(const Parts& parts) {
  LatencyHistogram histogram;
  absl::Duration least, most;  // the sums that samples in these buckets can have
  int last = -1;
  for (const Bucket& bucket : parts.buckets) {
    const int index = BucketOfLatency(bucket.low);
    const bool is_edge = bucket.low == absl::Microseconds(LowOf(index));
    if (!is_edge || index <= last || bucket.count < 1) return absl::nullopt;
    last = index;
    histogram.Reach(index);
    histogram.counts_[index - histogram.first_] = bucket.count;
    histogram.count_ += bucket.count;
    // Samples were rounded up into their bucket.
    least += bucket.count * std::max(bucket.low - absl::Microseconds(1), parts.min);
    most += bucket.count * std::min(absl::Microseconds(HighOf(index) - 1), parts.max);
  }
  if (last < 0) return histogram;
  histogram.min_ = parts.min;
  histogram.max_ = parts.max;
  histogram.sum_ = parts.mean * histogram.count_;
  // What is told in whole nanoseconds is a little less than it was.
  const absl::Duration slack = absl::Nanoseconds(1) * histogram.count_;
  const bool fits = BucketOfLatency(parts.min) == BucketOfLatency(parts.buckets[0].low) &&
                    BucketOfLatency(parts.max) == last && parts.max <= kLongest &&
                    parts.min <= parts.mean && parts.mean <= parts.max &&
                    least - slack <= histogram.sum_ && histogram.sum_ <= most + slack;
  return fits ? absl::make_optional(std::move(histogram)) : absl::nullopt;
}

}  // namespace sightline
