#include "loadtest/report/report_data.h"

#include <utility>

namespace sightline {

ReportedCapacity ReportCapacity(const CapacityResult& result) {
  std::vector<CurvePoint> points;
  for (const CapacityStep& step : result.steps) points.push_back(step.point);
  ReportedCapacity reported;
  reported.ending = result.ending;
  reported.rate = result.rate;
  reported.why = result.why;
  reported.curve = SaturationCurve(std::move(points));
  reported.knee = Knee(reported.curve);
  return reported;
}

}  // namespace sightline
