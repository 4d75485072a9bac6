// What is measured of embeddings: how items and queries are spread, and how they lie to each other.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_EMBEDDING_MEASURES_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_EMBEDDING_MEASURES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/embedding/embedding_matrix.h"

namespace sightline {

// Rows of length one.
struct PairedEmbeddings {
  EmbeddingMatrix items;
  EmbeddingMatrix queries;
  std::vector<int64_t> about;  // the item's row, of each query
};

// Mean cosines to the first, tenth and hundredth nearest item.
struct NeighborCosines {
  double first = 0, tenth = 0, hundredth = 0;
};

struct EmbeddingMeasures {
  int64_t items = 0;
  int64_t queries = 0;
  int dimension = 0;

  // By the principal axes of the items around their mean, greatest first: standard deviations
  // there, and the correlation of a query with its item.
  std::vector<double> item_deviations;
  std::vector<double> query_deviations;
  std::vector<double> correlations;

  double item_mean = 0;  // lengths
  double query_mean = 0;
  double mean_cosine = 0;
  double own_cosine = 0;  // mean of a query's with its item

  NeighborCosines item_neighbors;   // of items, themselves left out
  NeighborCosines query_neighbors;  // of queries
};

// Of 200 items and 200 queries at least: InvalidArgument.  The call's own status if it ends.
absl::StatusOr<EmbeddingMeasures> MeasureEmbeddings(const PairedEmbeddings& embeddings,
                                                    ComputePool* pool, const CallContext& call);

// Of some of the rows of `queries`, evenly spread; `themselves` if these are the items.
absl::StatusOr<NeighborCosines> MeasureNeighbors(const EmbeddingMatrix& items,
                                                 const EmbeddingMatrix& queries, bool themselves,
                                                 ComputePool* pool, const CallContext& call);

// (sum of variances)^2 / (sum of their squares).
double EffectiveDimension(const std::vector<double>& deviations);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_EMBEDDING_MEASURES_H_
