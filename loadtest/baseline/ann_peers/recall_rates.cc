#include "loadtest/baseline/ann_peers/recall_rates.h"

#include <algorithm>
#include <cmath>

namespace sightline {
namespace {

double At(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::vector<RecallPoint> Front(std::vector<RecallPoint> points) {
  std::sort(points.begin(), points.end(), [](const RecallPoint& a, const RecallPoint& b) {
    return a.recall != b.recall ? a.recall > b.recall : a.seconds < b.seconds;
  });
  std::vector<RecallPoint> front;
  for (const RecallPoint& point : points) {
    if (front.empty() || point.seconds < front.back().seconds) front.push_back(point);
  }
  std::reverse(front.begin(), front.end());
  return front;
}

absl::optional<double> SecondsAt(double recall, const std::vector<RecallPoint>& points) {
  const std::vector<RecallPoint> front = Front(points);
  const auto above = std::find_if(front.begin(), front.end(), [recall](const RecallPoint& point) {
    return point.recall >= recall;
  });
  if (above == front.end()) return absl::nullopt;
  if (above == front.begin()) return above->seconds;
  const RecallPoint& below = *(above - 1);
  const double share = (recall - below.recall) / (above->recall - below.recall);
  return below.seconds * std::pow(above->seconds / below.seconds, share);
}

Quartiles QuartilesOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {At(values, 0.25), At(values, 0.5), At(values, 0.75)};
}

}  // namespace sightline
