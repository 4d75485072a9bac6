#include "loadtest/measure/latency_histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/loadtest/measure/share_within.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Samples = std::vector<absl::Duration>;

// Uniform in [0, 1), the same with any standard library.
double Uniform(std::mt19937_64& engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-53;
}

struct Distribution {
  std::string name;
  std::function<absl::Duration(std::mt19937_64&)> draw;
};

std::vector<Distribution> Distributions() {
  return {
      {"all the same", [](auto&) { return absl::Microseconds(31415); }},
      {"whole microseconds below a bucket's growth",
       [](auto& e) { return absl::Microseconds(static_cast<int64_t>(Uniform(e) * 250)); }},
      {"uniform up to a second", [](auto& e) { return absl::Seconds(Uniform(e)); }},
      {"exponential, mean 20 ms",
       [](auto& e) { return absl::Milliseconds(20) * -std::log1p(-Uniform(e)); }},
      {"log-uniform from 1 us to 1 h",
       [](auto& e) { return absl::Microseconds(std::exp(Uniform(e) * std::log(3.6e9))); }},
      {"two humps",
       [](auto& e) {
         return Uniform(e) < 0.9 ? absl::Milliseconds(3 + Uniform(e))
                                 : absl::Milliseconds(900 + 100 * Uniform(e));
       }},
      {"falling in time",
       [last = 1e6](auto& e) mutable { return absl::Microseconds(last *= 1 - 0.01 * Uniform(e)); }},
  };
}

Samples Draw(const Distribution& distribution, int count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  Samples samples;
  for (int i = 0; i < count; ++i) samples.push_back(distribution.draw(engine));
  return samples;
}

LatencyHistogram HistogramOf(const Samples& samples) {
  LatencyHistogram histogram;
  for (const absl::Duration sample : samples) histogram.Record(sample);
  return histogram;
}

absl::Duration RoundedUp(absl::Duration latency) {
  return absl::Ceil(latency, absl::Microseconds(1));
}

// What the header promises of a quantile that stands for `sample`.
void RequireStandsFor(absl::Duration told, absl::Duration sample) {
  REQUIRE(told >= sample);
  const absl::Duration rounded = RoundedUp(sample);
  REQUIRE(told <= rounded + rounded / LatencyHistogram::kBucketsPerOctave);
  if (rounded < absl::Microseconds(2 * LatencyHistogram::kBucketsPerOctave)) {
    REQUIRE(told <= rounded);
  }
}

// The exact answers of sorted samples, in whole nanoseconds, judge the histogram's.
void RequireAgrees(const LatencyHistogram& histogram, Samples samples) {
  for (absl::Duration& sample : samples) sample = absl::Trunc(sample, absl::Nanoseconds(1));
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<int64_t>(samples.size());
  REQUIRE(histogram.count() == count);
  REQUIRE(histogram.min() == samples.front());
  REQUIRE(histogram.max() == samples.back());
  absl::Duration sum;
  for (const absl::Duration sample : samples) sum += sample;
  REQUIRE(histogram.mean() == sum / count);
  // Thousandths, so that ranks can be had without rounding.
  for (const int64_t thousandths : {1, 10, 70, 250, 500, 750, 900, 950, 990, 999}) {
    INFO("quantile " << thousandths << " of a thousand");
    const int64_t rank = std::max<int64_t>(1, (thousandths * count + 999) / 1000);
    const auto told = histogram.Quantile(static_cast<double>(thousandths) / 1000);
    REQUIRE(told.has_value() == (count - rank >= LatencyHistogram::kSamplesBeyond));
    if (told.has_value()) RequireStandsFor(*told, samples[rank - 1]);
  }
}

TEST_CASE("quantiles, mean and extremes agree with those of the sorted samples") {
  uint64_t seed = 1;
  for (const Distribution& distribution : Distributions()) {
    for (const int count : {1, 2, 11, 12, 100, 1009, 1010, 10009, 10010, 30000}) {
      INFO(distribution.name << ", " << count << " samples");
      const Samples samples = Draw(distribution, count, ++seed);
      RequireAgrees(HistogramOf(samples), samples);
    }
  }
}

TEST_CASE("merged histograms are that of all their samples") {
  const std::vector<Distribution> distributions = Distributions();
  for (const Distribution& first : distributions) {
    for (const Distribution& second : distributions) {
      INFO(first.name << " and " << second.name);
      Samples all = Draw(first, 500, 7);
      LatencyHistogram merged = HistogramOf(all);
      const Samples more = Draw(second, 700, 8);
      merged.Merge(HistogramOf(more));
      all.insert(all.end(), more.begin(), more.end());
      RequireAgrees(merged, all);
    }
  }
}

TEST_CASE("merging with nothing changes nothing, and nothing takes on what is merged") {
  const Samples samples = Draw(Distributions()[3], 100, 5);
  LatencyHistogram histogram = HistogramOf(samples);
  histogram.Merge(LatencyHistogram());
  RequireAgrees(histogram, samples);
  LatencyHistogram empty;
  empty.Merge(histogram);
  RequireAgrees(empty, samples);
  LatencyHistogram twice = histogram;
  twice.Merge(twice);
  REQUIRE(twice.count() == 200);
  REQUIRE(twice.Quantile(0.5) == histogram.Quantile(0.5));
}

TEST_CASE("without samples all is zero and no quantile is told") {
  const LatencyHistogram histogram;
  REQUIRE(histogram.count() == 0);
  REQUIRE(histogram.min() == absl::ZeroDuration());
  REQUIRE(histogram.max() == absl::ZeroDuration());
  REQUIRE(histogram.mean() == absl::ZeroDuration());
  REQUIRE_FALSE(histogram.Quantile(0.5).has_value());
  REQUIRE(ShareWithin(histogram, absl::ZeroDuration()) == 1);
  REQUIRE(histogram.Buckets().empty());
}

TEST_CASE("a quantile is told once ten samples lie beyond it") {
  LatencyHistogram histogram;
  histogram.Record(absl::Milliseconds(1), 999);
  REQUIRE(histogram.Quantile(0.5).has_value());
  REQUIRE_FALSE(histogram.Quantile(0.99).has_value());  // rank 990 of 999
  histogram.Record(absl::Milliseconds(1));
  REQUIRE(histogram.Quantile(0.99).has_value());
  REQUIRE_FALSE(histogram.Quantile(0.991).has_value());
}

TEST_CASE("edges: zero, below zero, a microsecond, an hour and beyond") {
  struct Edge {
    absl::Duration recorded, counted;
  };
  const absl::Duration longest = LatencyHistogram::kLongest;
  for (const Edge& edge : std::vector<Edge>{
           {absl::ZeroDuration(), absl::ZeroDuration()},
           {absl::Milliseconds(-5), absl::ZeroDuration()},
           {-absl::InfiniteDuration(), absl::ZeroDuration()},
           {absl::Nanoseconds(1), absl::Nanoseconds(1)},
           {absl::Microseconds(1), absl::Microseconds(1)},
           {absl::Microseconds(127), absl::Microseconds(127)},
           {absl::Microseconds(128), absl::Microseconds(128)},
           {absl::Microseconds(255.5), absl::Microseconds(255.5)},
           {longest - absl::Microseconds(1), longest - absl::Microseconds(1)},
           {longest, longest},
           {longest + absl::Nanoseconds(1), longest},
           {absl::Hours(1000000), longest},
           {absl::InfiniteDuration(), longest},
       }) {
    INFO(absl::FormatDuration(edge.recorded));
    LatencyHistogram histogram;
    histogram.Record(edge.recorded, 20);
    RequireAgrees(histogram, Samples(20, edge.counted));
    REQUIRE(histogram.Quantile(0.5) == edge.counted);
    REQUIRE(ShareWithin(histogram, edge.recorded) ==
            (edge.recorded < absl::ZeroDuration() ? 0 : 1));
  }
}

TEST_CASE("recording several at once is recording one several times") {
  LatencyHistogram one, other;
  one.Record(absl::Milliseconds(7), 3);
  one.Record(absl::Milliseconds(9), 0);
  one.Record(absl::Milliseconds(9), -4);
  for (int i = 0; i < 3; ++i) other.Record(absl::Milliseconds(7));
  REQUIRE(one.count() == 3);
  REQUIRE(one.mean() == other.mean());
  REQUIRE(one.Buckets().size() == 1);
}

TEST_CASE("buckets follow each other, hold every sample and are narrow") {
  const Samples samples = Draw(Distributions()[4], 2000, 3);
  const LatencyHistogram histogram = HistogramOf(samples);
  absl::Duration end;
  int64_t count = 0;
  for (const LatencyHistogram::Bucket& bucket : histogram.Buckets()) {
    REQUIRE(bucket.low >= end);
    REQUIRE(bucket.high > bucket.low);
    const absl::Duration narrow = bucket.low / LatencyHistogram::kBucketsPerOctave;
    REQUIRE(bucket.high - bucket.low <= std::max(narrow, absl::Microseconds(1)));
    const auto held = std::count_if(samples.begin(), samples.end(), [&](absl::Duration sample) {
      return RoundedUp(sample) >= bucket.low && RoundedUp(sample) < bucket.high;
    });
    REQUIRE(bucket.count == held);
    end = bucket.high;
    count += bucket.count;
  }
  REQUIRE(count == histogram.count());
}

LatencyHistogram::Parts PartsOf(const LatencyHistogram& histogram) {
  return {histogram.min(), histogram.mean(), histogram.max(), histogram.Buckets()};
}

TEST_CASE("a histogram is restored from what it tells of itself") {
  for (const Distribution& distribution : Distributions()) {
    CAPTURE(distribution.name);
    std::mt19937_64 engine(5);
    LatencyHistogram histogram;
    for (int i = 0; i < 500; ++i) histogram.Record(distribution.draw(engine));
    const auto restored = LatencyHistogram::Restore(PartsOf(histogram));
    REQUIRE(restored.has_value());
    REQUIRE(restored->count() == histogram.count());
    REQUIRE(restored->min() == histogram.min());
    REQUIRE(restored->max() == histogram.max());
    REQUIRE(absl::AbsDuration(restored->mean() - histogram.mean()) < absl::Nanoseconds(1));
    for (const double share : {0.01, 0.5, 0.9, 0.97}) {
      REQUIRE(restored->Quantile(share) == histogram.Quantile(share));
    }
  }
  REQUIRE(LatencyHistogram::Restore({})->count() == 0);
}

TEST_CASE("what is told in whole nanoseconds is restored, however fine the samples were") {
  // Schedules are computed in fractions of a nanosecond: what a report says of a sample just above
  // an edge must not lie below it.
  LatencyHistogram histogram;
  histogram.Record(absl::Microseconds(3) + absl::Nanoseconds(1) / 4);
  histogram.Record(absl::Microseconds(9) + absl::Nanoseconds(3) / 4);
  LatencyHistogram::Parts parts = PartsOf(histogram);
  for (absl::Duration* told : {&parts.min, &parts.mean, &parts.max}) {
    *told = absl::Nanoseconds(absl::ToInt64Nanoseconds(*told));
  }
  REQUIRE(LatencyHistogram::Restore(parts).has_value());
}

TEST_CASE("what no histogram tells is not restored") {
  LatencyHistogram histogram;
  histogram.Record(absl::Milliseconds(3), 40);
  histogram.Record(absl::Milliseconds(7));
  const auto restores = [parts = PartsOf(histogram)](const auto& change) {
    LatencyHistogram::Parts changed = parts;
    change(changed);
    return LatencyHistogram::Restore(changed).has_value();
  };
  REQUIRE(restores([](auto&) {}));
  REQUIRE(!restores([](auto& parts) { parts.min = absl::Microseconds(10); }));
  REQUIRE(!restores([](auto& parts) { parts.max = absl::Seconds(9); }));
  REQUIRE(!restores([](auto& parts) { parts.mean = absl::Milliseconds(2); }));
  // Within min and max, and yet none that so many samples in so many buckets can have.
  REQUIRE(!restores([](auto& parts) { parts.mean = absl::Milliseconds(5); }));
  REQUIRE(!restores([](auto& parts) { std::swap(parts.buckets[0], parts.buckets[1]); }));
  REQUIRE(!restores([](auto& parts) { parts.buckets[0].low += absl::Microseconds(1); }));
  REQUIRE(!restores([](auto& parts) { parts.buckets[0].count = 0; }));
  REQUIRE(!restores([](auto& parts) { parts.buckets[0].low = -absl::Microseconds(1); }));
  REQUIRE(!restores([](auto& parts) { parts.buckets[1].low = absl::Hours(2); }));
}

TEST_CASE("the share within a latency is that of the samples, give or take a bucket") {
  Samples samples = Draw(Distributions()[3], 2000, 11);
  const LatencyHistogram histogram = HistogramOf(samples);
  const auto share_of = [&samples](absl::Duration latency) {
    const auto within = std::count_if(samples.begin(), samples.end(),
                                      [latency](absl::Duration s) { return s <= latency; });
    return static_cast<double>(within) / static_cast<double>(samples.size());
  };
  for (int64_t us = 1; us < 400000; us = us * 3 / 2 + 1) {
    const absl::Duration latency = absl::Microseconds(us);
    const absl::Duration width =
        absl::Microseconds(1) + latency / LatencyHistogram::kBucketsPerOctave;
    REQUIRE(ShareWithin(histogram, latency) >= share_of(latency));
    REQUIRE(ShareWithin(histogram, latency) <= share_of(latency + width));
  }
}

}  // namespace
}  // namespace sightline
