// What efforts find and cost, measured on a shard's index: the points of its effort_curve.h.
#ifndef SIGHTLINE_COMMON_INDEX_CALIBRATION_H_
#define SIGHTLINE_COMMON_INDEX_CALIBRATION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/bundle/probe_file.h"
#include "common/index/vector_index.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct EffortCalibrationOptions {
  // Efforts grow until so much of the 10 best is found, and so much of the 100 best, which searches
  // ask for that are reranked or paged.
  double enough_of_10 = 0.999;
  double enough_of_100 = 0.99;
  // Probes whose searches are timed, alone and on one thread, and how often each effort is gone
  // through; fewer passes, one at least, where they take longer than `max_time`.
  int timed_queries = 32;
  int passes = 5;
  absl::Duration max_time = absl::Seconds(60);
};

// What `index`, which is not exact, finds with `probes` of its shard, which has items: points
// without times.  Efforts grow from 1 by steps of 1.41, and those are left out that find no more
// than a lesser one: so recalls ascend with efforts, and there are at most limits::kMaxEffortPoints
// points, at least one.  Searches with `pool`.
//
// A search's recall is promised by these points, and the recall gate compares with the same
// queries: what is promised was chosen among a few dozen efforts by what these queries found, which
// flatters it by less than a standard error of their mean.
//
// Errors as VectorIndex::Search.
absl::StatusOr<std::vector<bundle::v1::EffortPoint>> FindRecalls(
    const VectorIndex& index, const Probes& probes, const EffortCalibrationOptions& options,
    ComputePool* pool, const CallContext& call);

// What FindRecalls found with the times of `index`, which may be opened over rows in another place:
// it finds the same wherever they lie.  Those are left out that take no less time than a greater
// one, so that times ascend as well; at least one stays.
//
// Time is that of `call`'s clock, the median of all timed searches at an effort, whose passes lie
// between those at the other efforts, so that what else the machine does spoils them alike.  Errors
// as VectorIndex::Search.
absl::StatusOr<std::vector<bundle::v1::EffortPoint>> AddTimes(
    const VectorIndex& index, const Probes& probes, const EffortCalibrationOptions& options,
    const CallContext& call, std::vector<bundle::v1::EffortPoint> recalls);

// The median time of a search for 10 neighbors at `effort`, as above: of exact kinds too.
absl::StatusOr<double> MeasureSeconds(const VectorIndex& index, const Probes& probes, int effort,
                                      const EffortCalibrationOptions& options,
                                      const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_CALIBRATION_H_
