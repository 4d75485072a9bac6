// Counters, gauges and histograms, in Prometheus' sense.
//
//   MetricsRegistry metrics;
//   Counter hits = metrics.AddCounter("cache_hits_total", "Queries answered from the cache.");
//   hits.Increment();
//
// Handles are values: copy them freely.  One made by default counts nothing, so a
// library can do without a registry.  All operations are thread-safe; handles must not
// be used after their registry is gone.
#ifndef SIGHTLINE_COMMON_METRICS_METRICS_H_
#define SIGHTLINE_COMMON_METRICS_METRICS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"

namespace prometheus {
class Collectable;
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace sightline {

// Label name -> value.  Every combination of values is a series of its own and lives as
// long as the registry, so values come from a small set, never from a request.
using MetricLabels = std::map<std::string, std::string>;

// Only goes up.
class Counter {
 public:
  Counter() = default;
  // A negative or NaN `by` is ignored.
  void Increment(double by = 1) const;
  double value() const;

 private:
  friend class MetricsRegistry;
  explicit Counter(prometheus::Counter* impl) : impl_(impl) {}
  prometheus::Counter* impl_ = nullptr;
};

// Goes up and down.
class Gauge {
 public:
  Gauge() = default;
  void Set(double value) const;
  void Add(double by) const;
  double value() const;

 private:
  friend class MetricsRegistry;
  explicit Gauge(prometheus::Gauge* impl) : impl_(impl) {}
  prometheus::Gauge* impl_ = nullptr;
};

// Counts observations by size.
class Histogram {
 public:
  Histogram() = default;
  void Observe(double value) const;
  // In seconds, the unit of every duration on the page.
  void Observe(absl::Duration duration) const;

 private:
  friend class MetricsRegistry;
  explicit Histogram(prometheus::Histogram* impl) : impl_(impl) {}
  prometheus::Histogram* impl_ = nullptr;
};

// Upper bounds in seconds, 0.5 ms to 10 s: fine where requests end, coarse beyond.
std::vector<double> LatencyBuckets();

// 1, 2, 4, ... up to at least `max`; for batch sizes, tokens, depths.
std::vector<double> PowerOfTwoBuckets(double max);

// Makes metrics and writes the page.  Names get the prefix "sightline_"; counters end in
// "_total", durations in "_seconds".
//
// Adding the same name with the same labels again gives the same series.  A name or
// label that Prometheus does not allow, or a name that is in use for another kind of
// metric, is a mistake of the program and ends it with a message.
class MetricsRegistry {
 public:
  MetricsRegistry();
  ~MetricsRegistry();
  MetricsRegistry(const MetricsRegistry&) = delete;
  MetricsRegistry& operator=(const MetricsRegistry&) = delete;

  Counter AddCounter(absl::string_view name, absl::string_view help,
                     const MetricLabels& labels = {});
  Gauge AddGauge(absl::string_view name, absl::string_view help, const MetricLabels& labels = {});
  // `buckets`: upper bounds, ascending; those of the first series of a name should be
  // those of all.
  Histogram AddHistogram(absl::string_view name, absl::string_view help,
                         const std::vector<double>& buckets, const MetricLabels& labels = {});

  // The page in Prometheus' text format.
  std::string Render() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_METRICS_METRICS_H_
