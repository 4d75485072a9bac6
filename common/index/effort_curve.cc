#include "common/index/effort_curve.h"

#include <algorithm>
#include <cmath>

#include "common/base/limits.h"
#include "common/index/vector_index.h"

namespace sightline {
namespace {

using bundle::v1::EffortPoint;

// The exponent of k by which misses grow beyond a hundred.
constexpr double kMissGrowth = 0.7;

double RecallOf(const EffortPoint& point, int top_k) {
  const double decades = std::max(std::log10(std::max(top_k, 1)) - 1, 0.0);
  const double straight =
      point.recall_at_10() + decades * (point.recall_at_100() - point.recall_at_10());
  if (decades <= 1) return std::clamp(straight, 0.0, 1.0);
  const double careful =
      1 - (1 - point.recall_at_100()) * std::pow(10, kMissGrowth * (decades - 1));
  return std::clamp(std::min(straight, careful), 0.0, 1.0);
}

// The value at `x` of the line through (x0, y0) and (x1, y1), x0 <= x < x1.
double Between(double x, double x0, double y0, double x1, double y1) {
  return y0 + (x - x0) / (x1 - x0) * (y1 - y0);
}

}  // namespace

EffortCurve::EffortCurve(const bundle::v1::ShardManifest& shard)
    : points_(shard.efforts().begin(), shard.efforts().end()) {}

int EffortCurve::EffortFor(double recall, int top_k) const {
  if (recall >= 1) return limits::kMaxEffort;
  if (empty()) return kDefaultEffort;
  const auto enough = std::find_if(points_.begin(), points_.end(), [&](const EffortPoint& point) {
    return RecallOf(point, top_k) >= recall;
  });
  if (enough == points_.end()) return points_.back().effort();
  if (enough == points_.begin()) return enough->effort();
  const EffortPoint& less = *(enough - 1);
  return static_cast<int>(std::ceil(Between(recall, RecallOf(less, top_k), less.effort(),
                                            RecallOf(*enough, top_k), enough->effort())));
}

double EffortCurve::RecallAt(int effort, int top_k) const {
  if (empty()) return 0;
  const auto beyond = std::find_if(points_.begin(), points_.end(),
                                   [&](const EffortPoint& p) { return p.effort() > effort; });
  if (beyond == points_.begin()) {
    return RecallOf(points_.front(), top_k) * effort / points_.front().effort();
  }
  const EffortPoint& below = *(beyond - 1);
  if (beyond == points_.end()) return RecallOf(below, top_k);
  return Between(effort, below.effort(), RecallOf(below, top_k), beyond->effort(),
                 RecallOf(*beyond, top_k));
}

double EffortCurve::SecondsAt(int effort) const {
  if (empty()) return 0;
  const auto beyond = std::find_if(points_.begin(), points_.end(),
                                   [&](const EffortPoint& p) { return p.effort() > effort; });
  if (beyond == points_.begin()) return points_.front().seconds();
  const EffortPoint& below = *(beyond - 1);
  // What is beyond all points costs as much more as it looks at.
  if (beyond == points_.end()) return below.seconds() * effort / below.effort();
  return Between(effort, below.effort(), below.seconds(), beyond->effort(), beyond->seconds());
}

int EffortCurve::EffortWithin(double seconds) const {
  if (empty()) return kDefaultEffort;
  const EffortPoint& last = points_.back();
  if (last.seconds() <= seconds) {
    const double longer = last.seconds() > 0 ? seconds / last.seconds() : limits::kMaxEffort;
    return static_cast<int>(std::min<double>(last.effort() * longer, limits::kMaxEffort));
  }
  int effort = points_.front().effort();
  for (size_t i = 1; i < points_.size(); ++i) {
    const EffortPoint& below = points_[i - 1];
    const EffortPoint& point = points_[i];
    if (point.seconds() <= seconds) {
      effort = point.effort();
      continue;
    }
    if (below.seconds() <= seconds) {
      effort = static_cast<int>(
          Between(seconds, below.seconds(), below.effort(), point.seconds(), point.effort()));
    }
    break;
  }
  return effort;
}

}  // namespace sightline
