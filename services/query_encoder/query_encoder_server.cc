#include "services/query_encoder/query_encoder_server.h"

#include "common/models/inference.h"

namespace sightline {
namespace {

EncodeEngineOptions WithMetrics(EncodeEngineOptions options, MetricsRegistry* metrics) {
  options.text.metrics = BatchMetrics::Make(metrics, "text");
  options.image.metrics = BatchMetrics::Make(metrics, "image");
  options.decode.metrics = BatchMetrics::Make(metrics, "decode");
  return options;
}

}  // namespace

EncodeDomain::EncodeDomain(const Config& config, MetricsRegistry* metrics, ComputePool* pool,
                           Janitor* janitor)
    : models({config.store.store, ModelOptions{pool, config.compute.deterministic},
              config.precision, config.store.verify, janitor, metrics}),
      generations(Clock::Real()),
      host(config.store.store, &models),
      engine(WithMetrics(config.engine, metrics), &generations, Clock::Real()) {}

void EncodeDomain::PrepareLibraries() {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
}

}  // namespace sightline
