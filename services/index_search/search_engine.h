// Searches shards, batched across requests.  Knows shards and batches, nothing of gRPC.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_ENGINE_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_ENGINE_H_

#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/api/generation.h"
#include "common/api/index_search.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/outcome.h"
#include "common/batching/batch_scheduler.h"
#include "common/bundle/generation.h"
#include "common/generations/generation_registry.h"
#include "common/index/vector_index.h"

namespace sightline {

// One shard, ready to be searched.  `index` reads the memory that `vectors` has.
struct SearchableShard {
  // Of the generation: gone when the last of its shards has gone.
  std::shared_ptr<const void> memory;
  std::unique_ptr<ShardVectors> vectors;
  std::unique_ptr<VectorIndex> index;
};

// What the search server keeps of a generation: the shards that it holds, by number.  A
// request keeps the shard that it searches, so that a slow one delays the end of no other.
struct SearchGeneration {
  std::map<int, std::shared_ptr<const SearchableShard>> shards;
};

struct SearchEngineOptions {
  BatchSchedulerOptions batching;         // cost: query rows
  int max_queries = limits::kMaxQueries;  // of one request
};

// Thread-safe.
class SearchEngine {
 public:
  SearchEngine(const SearchEngineOptions& options,
               GenerationRegistry<SearchGeneration>* generations, Clock* clock);

  // Both block until the answer is there or the call's deadline has passed.  Errors as
  // IndexSearch lists them.
  absl::StatusOr<SearchShardResponse> SearchShard(const SearchShardRequest& request,
                                                  const CallContext& call);
  absl::StatusOr<FetchItemsResponse> FetchItems(const FetchItemsRequest& request,
                                                const CallContext& call) const;

  // Refuses new work and finishes what was accepted.
  void Drain() { searches_.Drain(); }
  BatchSchedulerStats stats() const { return searches_.stats(); }

 private:
  using Neighbors = std::vector<std::vector<Neighbor>>;

  struct Task {
    std::shared_ptr<const SearchableShard> shard;
    EmbeddingMatrix queries;
    int top_k;
    CallContext call;
    std::shared_ptr<Outcome<Neighbors>> outcome;
  };

  absl::StatusOr<std::shared_ptr<const SearchableShard>> FindShard(const GenerationRef& target,
                                                                   int shard) const;
  void Process(std::vector<Task> batch);

  const SearchEngineOptions options_;
  GenerationRegistry<SearchGeneration>* const generations_;
  BatchScheduler<Task> searches_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_ENGINE_H_
