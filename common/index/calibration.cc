#include "common/index/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/types/span.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/index/recall_probes.h"

namespace sightline {
namespace {

using bundle::v1::EffortPoint;

constexpr int kFew = 10;    // neighbors of recall_at_10
constexpr int kMany = 100;  // of recall_at_100

int NextEffort(int effort) {
  const auto next = static_cast<int>(std::lround(effort * std::sqrt(2.0)));
  return std::min(std::max(next, effort + 1), limits::kMaxEffort);
}

// Whether nothing more can be found than at this effort.
bool IsAll(const VectorIndex& index, int effort) {
  SearchOptions options;
  options.effort = effort;
  return index.IsExact(options) || effort >= std::min<int64_t>(index.size(), limits::kMaxEffort);
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The median time at each of `efforts`.
absl::StatusOr<std::vector<double>> TimeSearches(const VectorIndex& index, const Probes& probes,
                                                 absl::Span<const int> efforts,
                                                 const EffortCalibrationOptions& options,
                                                 const CallContext& call) {
  ComputePool alone(1);
  const int64_t count = std::min<int64_t>(probes.queries.rows(), options.timed_queries);
  EmbeddingMatrix query(1, probes.queries.dimension());
  std::vector<std::vector<double>> times(efforts.size());
  const absl::Time begin = call.clock()->Now();
  for (int pass = 0; pass < std::max(options.passes, 1); ++pass) {
    if (pass > 0 && call.clock()->Now() - begin > options.max_time) break;
    for (size_t e = 0; e < efforts.size(); ++e) {
      // The next search is of another query, so that none finds what it reads in a cache.
      for (int64_t i = 0; i < count; ++i) {
        const absl::Span<const float> row = probes.queries.row(i * probes.queries.rows() / count);
        std::copy(row.begin(), row.end(), query.mutable_data());
        const absl::Time start = call.clock()->Now();
        RETURN_IF_ERROR(index.Search(query, {kFew, &alone, efforts[e]}, call).status());
        times[e].push_back(absl::ToDoubleSeconds(call.clock()->Now() - start));
      }
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& each : times) medians.push_back(Median(std::move(each)));
  return medians;
}

// Without those that take no less time than a later one, which finds more.
std::vector<EffortPoint> Undominated(const std::vector<EffortPoint>& points) {
  std::vector<EffortPoint> kept;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    if (kept.empty() || point->seconds() < kept.back().seconds()) kept.push_back(*point);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace

absl::StatusOr<std::vector<EffortPoint>> FindRecalls(const VectorIndex& index, const Probes& probes,
                                                     const EffortCalibrationOptions& options,
                                                     ComputePool* pool, const CallContext& call) {
  std::vector<EffortPoint> points;
  for (int effort = 1;; effort = NextEffort(effort)) {
    EffortPoint point;
    point.set_effort(effort);
    ASSIGN_OR_RETURN(const double few, MeasureRecall(index, probes, {kFew, pool, effort}, call));
    ASSIGN_OR_RETURN(const double many, MeasureRecall(index, probes, {kMany, pool, effort}, call));
    point.set_recall_at_10(few);
    point.set_recall_at_100(many);
    const bool finds_more =
        points.empty() ||
        (few >= points.back().recall_at_10() && many >= points.back().recall_at_100() &&
         few + many > points.back().recall_at_10() + points.back().recall_at_100());
    if (finds_more) points.push_back(std::move(point));
    const bool full = static_cast<int>(points.size()) == limits::kMaxEffortPoints;
    const bool enough = few >= options.enough_of_10 && many >= options.enough_of_100;
    if (enough || full || IsAll(index, effort)) return points;
  }
}

absl::StatusOr<std::vector<EffortPoint>> AddTimes(const VectorIndex& index, const Probes& probes,
                                                  const EffortCalibrationOptions& options,
                                                  const CallContext& call,
                                                  std::vector<EffortPoint> recalls) {
  std::vector<int> efforts;
  for (const EffortPoint& point : recalls) efforts.push_back(point.effort());
  ASSIGN_OR_RETURN(const std::vector<double> seconds,
                   TimeSearches(index, probes, efforts, options, call));
  for (size_t i = 0; i < recalls.size(); ++i) recalls[i].set_seconds(seconds[i]);
  return Undominated(recalls);
}

absl::StatusOr<double> MeasureSeconds(const VectorIndex& index, const Probes& probes, int effort,
                                      const EffortCalibrationOptions& options,
                                      const CallContext& call) {
  ASSIGN_OR_RETURN(const std::vector<double> seconds,
                   TimeSearches(index, probes, {effort}, options, call));
  return seconds.front();
}

}  // namespace sightline
