#include "services/reranker/reranker_server.h"

#include "common/models/inference.h"
#include "common/rpc/shutdown_signals.h"

namespace sightline {
namespace {

RerankEngineOptions WithMetrics(RerankEngineOptions options, MetricsRegistry* metrics) {
  options.batching.metrics = BatchMetrics::Make(metrics, "rerank");
  return options;
}

ModelCacheOptions CacheOptions(const RerankerConfig& config, MetricsRegistry* metrics,
                               ComputePool* pool, Janitor* janitor) {
  ModelCacheOptions options;
  options.store = config.store.store;
  options.model.pool = pool;
  options.model.deterministic = config.compute.deterministic;
  options.model.execution = config.place.execution;
  options.precision = config.precision;
  options.verify = config.store.verify;
  options.janitor = janitor;
  options.metrics = metrics;
  options.device_memory_limit = config.place.device_memory_limit;
  options.on_device_lost = RequestEnd;
  return options;
}

}  // namespace

RerankDomain::RerankDomain(const Config& config, MetricsRegistry* metrics, ComputePool* pool,
                           Janitor* janitor)
    : models(CacheOptions(config, metrics, pool, janitor)),
      generations(Clock::Real()),
      host({config.store.store, config.generations.state_dir, config.store.verify}, &models,
           janitor),
      engine(WithMetrics(config.engine, metrics), &generations, Clock::Real()) {}

void RerankDomain::PrepareLibraries() {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
}

}  // namespace sightline
