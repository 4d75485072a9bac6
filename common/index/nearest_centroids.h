// Which of many centroids lies nearest to a vector: the inner loop of making lists.
//
// The nearest has the largest x . c - |c|^2 / 2, which is the inner product of x with a one behind
// it and c with that number behind it: so rows are multiplied by the kernels of searches
// (common/kernels/inner_products.h), at the peak of the machine.
#ifndef SIGHTLINE_COMMON_INDEX_NEAREST_CENTROIDS_H_
#define SIGHTLINE_COMMON_INDEX_NEAREST_CENTROIDS_H_

#include <cstdint>
#include <vector>

namespace sightline {

// Immutable, thread-safe.
class NearestCentroids {
 public:
  // Copies `count` >= 1 centroids of `dimension` numbers, one after another.
  NearestCentroids(const float* centroids, int64_t count, int dimension);

  // Writes which centroid is the nearest of each of `count` rows, one after another, whose numbers
  // are finite; of equally near ones the first.  A row's is the same whatever other rows there are.
  void Assign(const float* rows, int64_t count, int32_t* nearest) const;

 private:
  void AssignTile(const float* rows, int64_t count, int32_t* nearest) const;

  const int dimension_;
  const int64_t count_;
  std::vector<float> centroids_;  // count x (dimension + 1)
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_NEAREST_CENTROIDS_H_
