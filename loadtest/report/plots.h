// The plots of the page.  Each is none where nothing was measured that it would show.
#ifndef SIGHTLINE_LOADTEST_REPORT_PLOTS_H_
#define SIGHTLINE_LOADTEST_REPORT_PLOTS_H_

#include "absl/types/optional.h"
#include "common/plot/plot.h"
#include "loadtest/report/report_data.h"

namespace sightline {

// p50, p90, p99 and the maximum.  A percentile is told only with ten samples beyond it, so
// each has the shortest windows that hold enough requests, and the legend says how long they
// are; one that would have fewer than three is left out.
absl::optional<Plot> LatencyOverTime(const ReportData& data);

// Requests by the second they were meant to be sent in, as they ended, and how many ended
// in each second.
absl::optional<Plot> ThroughputOverTime(const ReportData& data);

// Latency over the share of requests that are at most as slow, each nine as wide as the one
// before; all requests and each kind.
absl::optional<Plot> PercentileCurve(const ReportData& data);

// Mean time of each stage, by kind, as a bar of parts.
absl::optional<Plot> StageBreakdown(const ReportData& data);

// Answered over offered rate, with the knee and the capacity that a search found.
absl::optional<Plot> SaturationPlot(const ReportData& data);

// p50 and p99 over the offered rate, with the limits.
absl::optional<Plot> LatencyOverRate(const ReportData& data);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_PLOTS_H_
