#include "services/query_encoder/query_encoder_server.h"

#include "common/models/inference.h"
#include "common/rpc/shutdown_signals.h"

namespace sightline {
namespace {

EncodeEngineOptions WithMetrics(EncodeEngineOptions options, MetricsRegistry* metrics) {
  options.text.metrics = BatchMetrics::Make(metrics, "text");
  options.image.metrics = BatchMetrics::Make(metrics, "image");
  options.decode.metrics = BatchMetrics::Make(metrics, "decode");
  return options;
}

ModelCacheOptions CacheOptions(const QueryEncoderConfig& config, MetricsRegistry* metrics,
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

EncodeDomain::EncodeDomain(const Config& config, MetricsRegistry* metrics, ComputePool* pool,
                           Janitor* janitor)
    : models(CacheOptions(config, metrics, pool, janitor)),
      generations(Clock::Real()),
      host(config.store.store, &models),
      engine(WithMetrics(config.engine, metrics), &generations, Clock::Real()) {}

void EncodeDomain::PrepareLibraries() {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
}

}  // namespace sightline
