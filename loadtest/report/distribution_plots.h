// How latency is spread, and where it comes from.
#ifndef SIGHTLINE_LOADTEST_REPORT_DISTRIBUTION_PLOTS_H_
#define SIGHTLINE_LOADTEST_REPORT_DISTRIBUTION_PLOTS_H_

#include "absl/types/optional.h"
#include "loadtest/report/figure.h"
#include "loadtest/report/report_data.h"

namespace sightline {

// Latency over the share of requests that are at most as slow, each nine as wide as the one
// before; all requests and each kind.  None without requests.
absl::optional<Figure> PercentileCurve(const ReportData& data);

// Mean time of each stage, by kind, as a bar of parts.  None if no answer told its times.
absl::optional<Figure> StageBreakdown(const ReportData& data);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_DISTRIBUTION_PLOTS_H_
