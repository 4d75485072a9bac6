// Which of many centroids lies nearest to a vector: the inner loop of making lists.
//
// The nearest has the largest x . c - |c|^2 / 2, which is the inner product of x with a one behind
// it and c with that number behind it: so rows are multiplied by the kernels of searches
// (common/kernels/inner_products.h), at the peak of the machine.
//
// Where there are many centroids, they are put into groups by centroids of their own, and only
// those of the nearest eight groups are compared.  One row in a hundred or so goes to the second
// nearest then, which costs a search nothing, and all is several times as fast.
#ifndef SIGHTLINE_COMMON_INDEX_NEAREST_CENTROIDS_H_
#define SIGHTLINE_COMMON_INDEX_NEAREST_CENTROIDS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/kernels/inner_products.h"

namespace sightline {

// Immutable, thread-safe.
class NearestCentroids {
 public:
  // Fewer are compared one by one.
  static constexpr int64_t kLeastGrouped = 1024;

  // Copies `count` >= 1 centroids of `dimension` numbers, one after another.
  NearestCentroids(const float* centroids, int64_t count, int dimension);

  // Writes which centroid is the nearest of each of `count` rows, one after another, whose numbers
  // are finite; of equally near ones the first.  A row's is the same whatever other rows there are.
  void Assign(const float* rows, int64_t count, int32_t* nearest) const;

 private:
  // Those whose own centroid is the same, packed as kernels read them.
  struct Group {
    kernels::QueryPanels panels;
    std::vector<int32_t> numbers;  // ascending
  };
  // What is known of a row.
  struct Best {
    float product;
    int32_t number;
  };

  void MakeGroups(const float* centroids, int64_t count);
  // Of rows with a one behind each.
  void CompareWith(const Group& group, const float* rows, int64_t count, Best* const* bests) const;
  void AssignTile(const float* rows, int64_t count, int32_t* nearest) const;

  const int dimension_;
  std::vector<Group> groups_;
  std::unique_ptr<Group> centers_;  // of the groups; null where there is one group
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_NEAREST_CENTROIDS_H_
