// What more load does to the fleet.
#ifndef SIGHTLINE_LOADTEST_REPORT_CAPACITY_PLOTS_H_
#define SIGHTLINE_LOADTEST_REPORT_CAPACITY_PLOTS_H_

#include "absl/types/optional.h"
#include "loadtest/report/figure.h"
#include "loadtest/report/report_data.h"

namespace sightline {

// Answered over offered rate, with the knee and the capacity.  None without a search for the
// capacity.
absl::optional<Figure> SaturationCurvePlot(const ReportData& data);

// p50 and p99 over the offered rate, with the limits.  Likewise none, and if no latency can
// be told.
absl::optional<Figure> LatencyOverRate(const ReportData& data);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_CAPACITY_PLOTS_H_
