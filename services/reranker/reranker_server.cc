#include "services/reranker/reranker_server.h"

#include "common/models/inference.h"

namespace sightline {
namespace {

RerankEngineOptions WithMetrics(RerankEngineOptions options, MetricsRegistry* metrics) {
  options.batching.metrics = BatchMetrics::Make(metrics, "rerank");
  return options;
}

}  // namespace

RerankDomain::RerankDomain(const Config& config, MetricsRegistry* metrics, ComputePool* pool,
                           Janitor* janitor)
    : models({config.store.store, ModelOptions{pool, config.compute.deterministic},
              config.precision, config.store.verify, janitor, metrics}),
      generations(Clock::Real()),
      host({config.store.store, config.generations.state_dir, config.store.verify}, &models,
           janitor),
      engine(WithMetrics(config.engine, metrics), &generations, Clock::Real()) {}

void RerankDomain::PrepareLibraries() {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
}

}  // namespace sightline
