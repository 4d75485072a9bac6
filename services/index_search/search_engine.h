// Searches shards, batched across requests.  Knows shards and batches, nothing of gRPC.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_ENGINE_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_ENGINE_H_

#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/api/generation.h"
#include "common/api/index_search.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/compute_pool.h"
#include "common/base/limits.h"
#include "common/base/outcome.h"
#include "common/batching/batch_metrics.h"
#include "common/batching/batch_scheduler.h"
#include "common/embedding/row_set.h"
#include "common/generations/generation_registry.h"
#include "common/index/vector_index.h"
#include "services/index_search/search_metrics.h"
#include "services/index_search/searchable_shard.h"

namespace sightline {

struct SearchEngineOptions {
  BatchSchedulerOptions batching;  // cost: query rows
  // Devices that shards may be on, by number; of each one thread searches all of these shards.
  std::map<int, BatchMetrics> devices;
  int max_queries = limits::kMaxQueries;  // of one request
  // Searches of a batch that cannot be one are done side by side in it; null: one after another.
  ComputePool* pool = nullptr;
  SearchMetrics metrics;
};

// Thread-safe.
class SearchEngine {
 public:
  SearchEngine(const SearchEngineOptions& options,
               GenerationRegistry<SearchGeneration>* generations, Clock* clock);

  // Both block until the answer is there or the call has ended; a search that is done in this
  // thread (BatchScheduler::SubmitOrProcess), as on the CPU, looks now and then whether it has.
  // Errors as IndexSearch lists them.
  absl::StatusOr<SearchShardResponse> SearchShard(const SearchShardRequest& request,
                                                  const CallContext& call);
  absl::StatusOr<FetchItemsResponse> FetchItems(const FetchItemsRequest& request,
                                                const CallContext& call) const;

  // Whether SearchShard is expected to compute for less than a millisecond, and to read no disk, so
  // that others can wait meanwhile: by what was measured of its effort, and at what pace searches
  // of the shard lately were; without an effort, by how much is scored.
  bool IsBrief(const SearchShardRequest& request) const;

  // Refuses new work and finishes what was accepted.
  void Drain();
  // Of searches on the CPU, and on one of the devices.
  BatchSchedulerStats stats() const { return searches_.stats(); }
  BatchSchedulerStats device_stats(int device) const {
    return device_searches_.at(device)->stats();
  }

 private:
  using Neighbors = std::vector<std::vector<Neighbor>>;

  // A shard, and the generation that it is of, as long as that is held.
  struct FoundShard {
    std::shared_ptr<const SearchableShard> shard;
    std::weak_ptr<const SearchGeneration> generation;
  };

  struct Task {
    std::shared_ptr<const SearchableShard> shard;
    EmbeddingMatrix queries;
    int top_k;
    ShardSearchPlan plan;
    std::shared_ptr<const RowSet> among;  // null: all rows
    CallContext call;
    std::shared_ptr<Outcome<Neighbors>> outcome;
  };

  absl::StatusOr<FoundShard> FindShard(const GenerationRef& target, int shard) const;
  absl::StatusOr<Neighbors> Search(const SearchShardRequest& request, const FoundShard& found,
                                   const ShardSearchPlan& plan, std::shared_ptr<const RowSet> among,
                                   const CallContext& call);
  // None if one cannot be read by `until`: whoever wants it fetches it, and is told why.
  std::vector<std::vector<StoredItem>> ItemsOf(
      const std::vector<std::vector<Candidate>>& candidates, const SearchableShard& shard,
      absl::Time until) const;
  // What reading or searching the shard ended with; a file or a device that is at fault as a whole
  // takes the generation out of service, until it can be loaded again.
  absl::Status AfterReading(const absl::Status& status, const GenerationRef& target,
                            const FoundShard& found) const;
  absl::Status Submit(Task task);
  // Searches that cannot be one are done side by side by `pool`, if not null.
  static void Process(std::vector<Task> batch, ComputePool* pool);
  static void SearchTogether(absl::Span<Task* const> tasks);

  const SearchEngineOptions options_;
  GenerationRegistry<SearchGeneration>* const generations_;
  Clock* const clock_;
  BatchScheduler<Task> searches_;
  std::map<int, std::unique_ptr<BatchScheduler<Task>>> device_searches_;  // by device
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_ENGINE_H_
