// Any bytes as the JSON report of a load test: an error, or a run that is written and read
// again as it is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "loadtest/report/json_report.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = sightline::ParseJsonReport(text);
  if (!report.ok()) {
    Require(absl::IsInvalidArgument(report.status()));
    return 0;
  }
  const sightline::Tally& total = report->result.total;
  Require(total.ok >= 0 && total.ok <= total.count && total.degraded <= total.ok);
  int64_t in_buckets = 0;
  for (const auto& bucket : total.latency.Buckets()) in_buckets += bucket.count;
  Require(in_buckets == total.latency.count());
  Require(total.latency.min() <= total.latency.mean() &&
          total.latency.mean() <= total.latency.max());
  const auto again = sightline::ParseJsonReport(sightline::JsonReport(*report));
  Require(again.ok());
  Require(again->result.total.latency.count() == total.latency.count() &&
          again->result.total.latency.Quantile(0.5) == total.latency.Quantile(0.5));
  return 0;
}
