#include "common/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"

namespace sightline {
namespace {

constexpr absl::string_view kPrefix = "sightline_";
constexpr size_t kMaxLabelBytes = 200;

[[noreturn]] void Die(absl::string_view name, absl::string_view why) {
  const std::string line = absl::StrCat("metric ", name, ": ", why, "\n");
  std::fputs(line.c_str(), stderr);
  std::abort();
}

bool IsName(absl::string_view name) {
  return !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

// The page is UTF-8; values may come from names that an operator chose.
MetricLabels Checked(absl::string_view name, const MetricLabels& labels) {
  if (!IsName(name)) Die(name, "a name has letters, digits and _, and begins with no digit");
  MetricLabels checked;
  for (const auto& [label, value] : labels) {
    if (!IsName(label)) Die(name, absl::StrCat("a label cannot be called ", label));
    checked[label] = CleanText(value, kMaxLabelBytes);
  }
  return checked;
}

// Adds a series to the family that `builder` makes; prometheus-cpp throws if the name
// belongs to another kind of metric.
template <typename Builder, typename... Args>
auto* AddSeries(prometheus::Registry* registry, Builder builder, absl::string_view name,
                absl::string_view help, const MetricLabels& labels, const Args&... args) {
  const MetricLabels checked = Checked(name, labels);
  try {
    return &builder.Name(absl::StrCat(kPrefix, name))
                .Help(std::string(help))
                .Register(*registry)
                .Add(checked, args...);
  } catch (const std::exception& error) {
    Die(name, error.what());
  }
}

}  // namespace

void Counter::Increment(double by) const {
  if (impl_ != nullptr && by >= 0) impl_->Increment(by);
}

double Counter::value() const {
  return impl_ == nullptr ? 0 : impl_->Value();
}

void Gauge::Set(double value) const {
  if (impl_ != nullptr) impl_->Set(value);
}

void Gauge::Add(double by) const {
  if (impl_ != nullptr) impl_->Increment(by);
}

double Gauge::value() const {
  return impl_ == nullptr ? 0 : impl_->Value();
}

void Histogram::Observe(double value) const {
  if (impl_ != nullptr) impl_->Observe(value);
}

void Histogram::Observe(absl::Duration duration) const {
  Observe(absl::ToDoubleSeconds(duration));
}

std::vector<double> LatencyBuckets() {
  return {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10};
}

std::vector<double> PowerOfTwoBuckets(double max) {
  std::vector<double> buckets = {1};
  while (buckets.back() < max) buckets.push_back(2 * buckets.back());
  return buckets;
}

struct MetricsRegistry::Impl {
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
};

MetricsRegistry::MetricsRegistry() : impl_(std::make_unique<Impl>()) {}
MetricsRegistry::~MetricsRegistry() = default;

Counter MetricsRegistry::AddCounter(absl::string_view name, absl::string_view help,
                                    const MetricLabels& labels) {
  return Counter(AddSeries(impl_->registry.get(), prometheus::BuildCounter(), name, help, labels));
}

Gauge MetricsRegistry::AddGauge(absl::string_view name, absl::string_view help,
                                const MetricLabels& labels) {
  return Gauge(AddSeries(impl_->registry.get(), prometheus::BuildGauge(), name, help, labels));
}

Histogram MetricsRegistry::AddHistogram(absl::string_view name, absl::string_view help,
                                        const std::vector<double>& buckets,
                                        const MetricLabels& labels) {
  if (!std::is_sorted(buckets.begin(), buckets.end())) Die(name, "buckets must ascend");
  return Histogram(
      AddSeries(impl_->registry.get(), prometheus::BuildHistogram(), name, help, labels, buckets));
}

std::string MetricsRegistry::Render() const {
  return prometheus::TextSerializer().Serialize(impl_->registry->Collect());
}

}  // namespace sightline
