// More embeddings than a model has made, for queries that it has: grown from those of a store.
//
// Vectors that are drawn (synthetic_vectors.h) lie along axes of their own, so that what a real
// encoder makes of a question lies nowhere near them.  A grown item lies along the axes of the
// model: it is, before it is scaled to length one,
//
//   x = m + sqrt(1 - o_b) (x_b - m) + sqrt(o_b) g,   g = sum_j v_j (x_r(j) - m) / sqrt(J),
//
// x_b the picture that it grows from, m the mean of all pictures, r(j) another picture each, v_j
// nearly normal, J = 64, and o_b the share of its variance that items of this picture have for
// themselves, drawn evenly from 0 on.  The mean and the covariance of grown items are therefore
// those of the pictures.  The query about an item is a caption of the picture, as it is.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_GROWN_VECTORS_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_GROWN_VECTORS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "loadtest/synthesize/embedding_measures.h"
#include "loadtest/synthesize/item_vectors.h"

namespace sightline {

class GrownVectors : public ItemVectors {
 public:
  // `pairs` has queries.  `own_share` is the greatest o_b, 0 to 1.
  GrownVectors(std::shared_ptr<const PairedEmbeddings> pairs, uint64_t seed, double own_share);

  int dimension() const override { return pairs_->items.dimension(); }
  void Fill(absl::Span<const uint32_t> items, float* rows) const override;
  void FillQueries(absl::Span<const uint32_t> items, float* rows) const override;

  // A cluster is of a query, and grows from the picture that this is about.
  int64_t ClusterOf(uint32_t item) const override;
  int64_t clusters() const override { return pairs_->queries.rows(); }
  double EffectiveDimension() const override;

 private:
  void Grow(uint32_t item, float* row) const;
  // Adds `factor` times what the picture's embedding has beside the mean.
  void AddDeviation(int64_t picture, float factor, float* row) const;

  const std::shared_ptr<const PairedEmbeddings> pairs_;
  const uint64_t seed_;
  const double own_share_;
  std::vector<float> mean_;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_GROWN_VECTORS_H_
