// How embeddings are spread, in the few numbers that synthetic ones are drawn by.
//
// Two towers of one model do not fill a space alike: queries have another mean than items, spread
// along other axes, and lie farther from their nearest items than items do from each other.
// `synthesize fit` measures that in a store (shape_fit.h); synthetic_vectors.h has the formula.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_VECTOR_SHAPE_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_VECTOR_SHAPE_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// A power of the rank in each of three stretches: ranks 1 to 16, 16 to 64, and beyond.  Continuous.
struct RankLaw {
  static constexpr std::array<double, 2> kKnees = {16, 64};

  double head = 1;                              // at rank 1
  std::array<double, 3> exponents = {0, 0, 0};  // it falls as rank^-exponent

  double At(double rank) const;
};

// Clusters whose items share something beside: neighbors of neighbors.
inline constexpr int64_t kClustersInGroup = 8;

struct VectorShape {
  // Deviations along the axes, the principal ones of items by rank, up to a factor.
  RankLaw items;
  RankLaw queries;
  // How much a query tells of its item along an axis: their correlation there, at most 1.
  RankLaw shared;

  // Lengths of the two means, of vectors of length one, and the cosine between them.
  double item_mean = 0;
  double query_mean = 0;
  double mean_cosine = 1;

  // An item's own share of its variance is drawn for its cluster, evenly from 0 to this; the rest
  // it has in common with its cluster, and this much of the rest with the cluster's group.
  double own_share = 1;
  double group_share = 0;
};

// One power of the rank for all, means of zero, and queries that are spread as items are and tell
// `shared` of their items along every axis.
VectorShape PowerShape(double spectrum, double shared);

// That of the demo's embeddings (demo_shape.json, where its measures are as well).
const VectorShape& DemoShape();

// JSON: {"shape": {...}}, what else there is being ignored.  InvalidArgument for what is no shape.
absl::StatusOr<VectorShape> ParseVectorShape(absl::string_view json);
// The object behind "shape".
std::string VectorShapeJson(const VectorShape& shape);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_VECTOR_SHAPE_H_
