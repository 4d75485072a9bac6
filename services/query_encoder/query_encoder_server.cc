#include "services/query_encoder/query_encoder_server.h"

#include "common/config/device_models.h"
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
  ModelCacheOptions options =
      ModelCacheOptionsOf(config.store, config.compute, config.precision, config.place);
  options.model.pool = pool;
  options.janitor = janitor;
  options.metrics = metrics;
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
