// Embeddings of items that are known by their numbers, and of queries about them.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_ITEM_VECTORS_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_ITEM_VECTORS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace sightline {

// Immutable, thread-safe.
class ItemVectors {
 public:
  virtual ~ItemVectors() = default;

  virtual int dimension() const = 0;

  // Writes the vectors of the items numbered `items`, of length one, to `rows`, one after another
  // without gaps.  A vector has the same bits whatever else is asked for with it, from the same
  // program on any CPU that runs it.
  virtual void Fill(absl::Span<const uint32_t> items, float* rows) const = 0;
  // Likewise the queries about these items, one about each.
  virtual void FillQueries(absl::Span<const uint32_t> items, float* rows) const = 0;

  // Items of one cluster are alike.  0 to clusters() - 1.
  virtual int64_t ClusterOf(uint32_t item) const = 0;
  virtual int64_t clusters() const = 0;

  // (sum of variances)^2 / (sum of their squares) over the axes: of how many equal dimensions the
  // spread of items is.
  virtual double EffectiveDimension() const = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_ITEM_VECTORS_H_
