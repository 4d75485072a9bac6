// What happened when: latency and throughput over the run, with what was done to the fleet.
#ifndef SIGHTLINE_LOADTEST_REPORT_TIME_PLOTS_H_
#define SIGHTLINE_LOADTEST_REPORT_TIME_PLOTS_H_

#include "absl/types/optional.h"
#include "loadtest/report/figure.h"
#include "loadtest/report/report_data.h"

namespace sightline {

// p50, p90, p99 and the maximum.  A percentile is told only with ten samples beyond it, so
// each has the shortest windows that hold enough requests, and the legend says how long they
// are; one that would have fewer than three is left out.  None without requests.
absl::optional<Figure> LatencyOverTime(const ReportData& data);

// Requests by the second they were meant to be sent in, as they ended, and how many ended
// in each second.  None without requests.
absl::optional<Figure> ThroughputOverTime(const ReportData& data);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_TIME_PLOTS_H_
