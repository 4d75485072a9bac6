// Scores pairs, batched across requests; pairs for different cross-encoders share a queue,
// not a batch.  Knows cross-encoders and feature stores, nothing of gRPC.
#ifndef SIGHTLINE_SERVICES_RERANKER_RERANK_ENGINE_H_
#define SIGHTLINE_SERVICES_RERANKER_RERANK_ENGINE_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/api/reranker.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/outcome.h"
#include "common/batching/batch_scheduler.h"
#include "common/bundle/generation.h"
#include "common/generations/generation_registry.h"
#include "common/models/model.h"

namespace sightline {

// What the reranker keeps of a generation.
struct RerankGeneration {
  struct Reranker {
    std::string name;
    std::shared_ptr<const Model> model;
    std::string precision;  // that it computes in
  };
  std::vector<Reranker> rerankers;  // the default first; none: it is retrieval only
  // Item features of each shard, by number; for all of them.
  std::map<int, std::shared_ptr<const FeatureStore>> features;
};

struct RerankEngineOptions {
  BatchSchedulerOptions batching;               // cost: tokens plus regions
  int max_candidates = limits::kMaxCandidates;  // of one request
  // Requests that read features of stored items at once; one more is refused, so that a disk that
  // does not answer leaves threads to those who need none of it.
  int max_reading = 48;
};

// Thread-safe.
class RerankEngine {
 public:
  RerankEngine(const RerankEngineOptions& options,
               GenerationRegistry<RerankGeneration>* generations, Clock* clock);

  // Blocks until the answer is there or the call's deadline has passed.  Errors as
  // Reranker.RerankCandidates lists them.
  absl::StatusOr<RerankResponse> RerankCandidates(const RerankRequest& request,
                                                  const CallContext& call);

  // Refuses new work and finishes what was accepted.
  void Drain() { pairs_.Drain(); }
  BatchSchedulerStats stats() const { return pairs_.stats(); }

 private:
  // What the pairs of one request share, kept alive by each of them.
  struct Request {
    std::shared_ptr<const Model> model;
    Shared<ItemFeatures> query;
    std::vector<Shared<ItemFeatures>> candidates;
  };
  struct PairTask {
    std::shared_ptr<const Request> request;
    ScoringPair pair;
    CallContext call;
    std::shared_ptr<Outcome<float>> outcome;
  };

  // Errors as RerankCandidates.
  absl::StatusOr<std::shared_ptr<const Request>> ResolveAll(
      const RerankRequest& request, std::shared_ptr<const RerankGeneration> held,
      std::shared_ptr<const Model> model, const CallContext& call) const;
  void ScorePairs(std::vector<PairTask> batch);

  const RerankEngineOptions options_;
  GenerationRegistry<RerankGeneration>* const generations_;
  mutable std::atomic<int> reading_{0};  // requests that read features now
  BatchScheduler<PairTask> pairs_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_RERANKER_RERANK_ENGINE_H_
