// The obvious way to answer a search: score everything, sort, rerank the first.
#ifndef SIGHTLINE_TESTS_INTEGRATION_REFEREE_H_
#define SIGHTLINE_TESTS_INTEGRATION_REFEREE_H_

#include <string>
#include <vector>

#include "common/embedding/embedding_matrix.h"
#include "tests/support/tiny_store.h"

namespace sightline {

struct RefereeHit {
  std::string item_id;
  float retrieval_score = 0;
  float rerank_score = 0;  // in [0, 1]; only within the depth
  float block_score = 0;   // what the block is ordered by: that, or a raw score in 1024ths
  bool reranked = false;
};

struct RefereeQuery {
  EmbeddingMatrix embedding;
  // The query's side of a pair; none for a query that is not reranked.
  const ItemFeatures* text = nullptr;
  const ItemFeatures* image = nullptr;
};

// All items of one index, best first.  `reranker` has the same items and the model that
// reranks, and made the query's side; null: `store` itself.
std::vector<RefereeHit> RefereeSearch(const TinyStore& store, bool images,
                                      const RefereeQuery& query, int depth,
                                      const std::string& without = "",
                                      const TinyStore* reranker = nullptr);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_INTEGRATION_REFEREE_H_
