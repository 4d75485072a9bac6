#include "services/reranker/reranker_server.h"

#include "common/config/device_models.h"
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
  ModelCacheOptions options =
      ModelCacheOptionsOf(config.store, config.compute, config.precision, config.place);
  options.model.pool = pool;
  options.janitor = janitor;
  options.metrics = metrics;
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
