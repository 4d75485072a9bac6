// All that a report tells: what was measured, what was wanted of it, and what follows.
#ifndef SIGHTLINE_LOADTEST_REPORT_REPORT_DATA_H_
#define SIGHTLINE_LOADTEST_REPORT_REPORT_DATA_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "loadtest/measure/load_result.h"
#include "loadtest/verdict/capacity.h"
#include "loadtest/verdict/verdict.h"

namespace sightline {

// What a search for the capacity found, as a curve.
struct ReportedCapacity {
  CapacityEnding ending = CapacityEnding::kInconclusive;
  double rate = 0;                // the highest that meets the SLO; 0: none does
  std::string why;                // the ending in words
  std::vector<CurvePoint> curve;  // by ascending rate, one point for each
  absl::optional<int> knee;       // index into `curve`

  bool MeetsSlo(const CurvePoint& point) const { return point.rate <= rate; }
};

ReportedCapacity ReportCapacity(const CapacityResult& result);

struct ReportData {
  LoadResult result;
  Verdict verdict;
  // What latency was wanted at which quantile: {0.99, 300 ms}; drawn into the plots.
  std::vector<std::pair<double, absl::Duration>> latency_limits;
  absl::optional<ReportedCapacity> capacity;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_REPORT_DATA_H_
