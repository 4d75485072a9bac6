// Items, queries and the truth about them: what all contenders are asked.
#ifndef SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_ANN_CORPUS_H_
#define SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_ANN_CORPUS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/compute_pool.h"
#include "common/base/resident_memory.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/vector_index.h"
#include "loadtest/synthesize/synthetic_vectors.h"

namespace sightline {

// True neighbors that are known of each query.
inline constexpr int kTruthDepth = 100;

struct AnnCorpus {
  std::string key;  // of these items alone, short, for names of files
  std::unique_ptr<ResidentMemory> memory;
  VectorView items;  // without gaps
  EmbeddingMatrix queries;
  std::vector<std::vector<int64_t>> truth;  // rows, best first, of each query
};

// The first `items` items that `spec` gives, and its first `queries` queries.
absl::StatusOr<AnnCorpus> DrawAnnCorpus(const VectorSpec& spec, int64_t items, int64_t queries,
                                        ComputePool* pool);

// The pictures of a store, and its captions as queries (stored_pairs.h); `queries` of them at most,
// evenly spread.
absl::StatusOr<AnnCorpus> ReadAnnCorpus(const std::string& store, int64_t queries,
                                        ComputePool* pool);

// The share of the first `k` of `truth` that is among the first `k` of `found`; of all of them,
// where there are fewer.
double RecallAt(int k, absl::Span<const int64_t> found, absl::Span<const int64_t> truth);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BASELINE_ANN_PEERS_ANN_CORPUS_H_
