// Embeddings that no encoder made and that search like those that one did.
//
// What makes an index behave is how its vectors are spread: real embeddings fill few of
// their dimensions, and have neighbours.  So a vector is
//
//   x = R (s . (sqrt(w) u + sqrt(1 - w) v)),   scaled to length one,
//
// u the numbers of the item's cluster, v its own, both independent and nearly normal;
// s_r = r^-spectrum the deviation along axis r = 1, 2, ...; w = kClusterShare, which is
// about the cosine of two items of a cluster; and R a rotation, so that no coordinate
// means more than another.  Singular values of many rows therefore fall as
// rank^-spectrum, but for the first few, which scaling to length one draws together.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHETIC_VECTORS_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHETIC_VECTORS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace sightline {

inline constexpr double kClusterShare = 0.8;

struct VectorSpec {
  uint64_t seed = 1;
  int dimension = 1;      // at least 1
  double spectrum = 0.5;  // at least 0; 0 is a sphere
  int64_t clusters = 1;   // at least 1, which is none
};

// Immutable, thread-safe.
class SyntheticVectors {
 public:
  explicit SyntheticVectors(const VectorSpec& spec);

  int dimension() const { return spec_.dimension; }

  // Writes the vectors of the items numbered `items` to `rows`, one after another without
  // gaps.  A vector has the same bits whatever else is asked for with it, from the same
  // program on any CPU that runs it.
  void Fill(absl::Span<const uint32_t> items, float* rows) const;

  // 0 to clusters - 1; each item's is drawn on its own, all equally likely.
  int64_t ClusterOf(uint32_t item) const;

  // (sum of variances)^2 / (sum of their squares) over the axes: of how many equal
  // dimensions the spread is.
  double EffectiveDimension() const;

 private:
  // Turns coordinates `first` and `second` into each other.
  struct Turn {
    int first = 0;
    int second = 0;
    float cosine = 1;
    float sine = 0;
  };

  void DrawRotation();
  void FillLanes(const uint32_t* items, float* lanes) const;
  void Rotate(float* lanes) const;

  const VectorSpec spec_;
  std::vector<float> own_scale_;      // of v, by axis
  std::vector<float> cluster_scale_;  // of u, by axis; empty without clusters
  std::vector<Turn> rotation_;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_SYNTHETIC_VECTORS_H_
