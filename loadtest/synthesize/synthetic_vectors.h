// Embeddings that no encoder made and that search like those that one did.
//
// What makes an index behave is how its vectors are spread, and how queries lie to them: real
// embeddings fill few of their dimensions, have neighbours, and are asked for from elsewhere.  So
// an item is, before it is scaled to length one,
//
//   x = R (m + s . z),   z = sqrt((1 - o) g) w + sqrt((1 - o) (1 - g)) u + sqrt(o) v,
//
// w the numbers of its cluster's group, u those of its cluster, v its own, all independent and
// nearly normal; s_r the deviation along axis r = 1, 2, ...; m a mean; o the own share of its
// cluster, g the group's share of the rest; and R a rotation, so that no coordinate means more
// than another.  The query about that item is
//
//   q = R (m' + s' . (c . z + sqrt(1 - c^2) . n)),
//
// n noise of its own, c_r what queries and items share along axis r, s' and m' the queries' own
// deviations and mean.  VectorShape has s, s', c, o and g and the means' lengths and cosine.
// Singular values of many rows therefore fall as s, but for the first few, which scaling to length
// one and few groups move.
//
// Clusters are of unlike sizes, as topics are: the share of the k-th falls as k^-1/2.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHETIC_VECTORS_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHETIC_VECTORS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "loadtest/synthesize/item_vectors.h"
#include "loadtest/synthesize/vector_shape.h"

namespace sightline {

struct VectorSpec {
  uint64_t seed = 1;
  int dimension = 1;     // at least 1
  int64_t clusters = 1;  // at least 1, which is none
  VectorShape shape = DemoShape();
};

// As many clusters as `items` items usually have.
int64_t ClustersFor(int64_t items);

class SyntheticVectors : public ItemVectors {
 public:
  explicit SyntheticVectors(const VectorSpec& spec);

  int dimension() const override { return spec_.dimension; }
  void Fill(absl::Span<const uint32_t> items, float* rows) const override;
  void FillQueries(absl::Span<const uint32_t> items, float* rows) const override;

  // Each item's is drawn on its own.
  int64_t ClusterOf(uint32_t item) const override;
  int64_t clusters() const override { return spec_.clusters; }
  // Of a cluster: 0 to a kClustersInGroup-th of the clusters.
  int64_t GroupOf(int64_t cluster) const;
  // The share of its variance that an item of the cluster has for itself.
  double OwnShareOf(int64_t cluster) const;

  double EffectiveDimension() const override;

 private:
  // Turns coordinates `first` and `second` into each other.
  struct Turn {
    int first = 0;
    int second = 0;
    float cosine = 1;
    float sine = 0;
  };
  // What is done with z along an axis: mean + scale * z + noise * (a nearly normal number).
  struct Placement {
    float mean = 0;
    float scale = 0;
    float noise = 0;
  };

  void PlaceItems();
  void PlaceQueries();
  std::vector<double> Direction(uint64_t number) const;
  void DrawRotation();
  void FillRows(absl::Span<const uint32_t> items, const std::vector<Placement>& placements,
                float* rows) const;
  void FillLanes(const uint32_t* items, float* lanes) const;
  void Place(const std::vector<Placement>& placements, const uint32_t* items, float* lanes) const;
  void Rotate(float* lanes) const;

  const VectorSpec spec_;
  std::vector<Placement> items_;    // by axis
  std::vector<Placement> queries_;  // by axis
  std::vector<Turn> rotation_;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHETIC_VECTORS_H_
