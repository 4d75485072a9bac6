// What an inverted file learns from a sample of its rows: centroids, and codebooks of residuals.
#ifndef SIGHTLINE_COMMON_INDEX_IVF_TRAINING_H_
#define SIGHTLINE_COMMON_INDEX_IVF_TRAINING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/index/ivf_shape.h"

namespace sightline {

// Vectors of one dimension, one after another, whose numbers are finite.
struct Sample {
  int dimension = 0;
  std::vector<float> values;

  int64_t rows() const { return static_cast<int64_t>(values.size()) / dimension; }
  const float* row(int64_t i) const { return values.data() + i * dimension; }
};

// `count` >= 1 centroids, one after another, by Lloyd's algorithm: rows drawn with `seed`, each
// then moved to the mean of the rows that lie nearest to it, ten times.  One that has no rows takes
// half of the largest's.  Equal arguments give equal bits, whatever the threads of `pool`.  Of an
// empty sample all are zero.  The call's own status if it ends.
absl::StatusOr<std::vector<float>> TrainCentroids(const Sample& sample, int64_t count,
                                                  uint64_t seed, ComputePool* pool,
                                                  const CallContext& call);

// How far lists reach.  A row of a list has the residual r, and of a query of length one with it a
// product of mean zero and deviation s |r|, where s is the root of the mean square of the cosine
// between residuals: as queries are spread as rows are, about 1 / sqrt of the dimensions that these
// fill.  The best of a list's rows lie some two and a half deviations above the centroid.
//
// `residuals` are of rows of the lists `lists`, of `count` in all; a list of which there are few is
// taken to be partly as all are.
std::vector<float> ReachesOf(const Sample& residuals, const std::vector<int32_t>& lists,
                             int64_t count);

// Codebooks of pq4 (ivf_shape.h) of such residuals: of each part 16 centroids of its numbers.
absl::StatusOr<std::vector<float>> TrainCodebooks(const Sample& residuals, const IvfShape& shape,
                                                  ComputePool* pool, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_IVF_TRAINING_H_
