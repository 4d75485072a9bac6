// Composition root of query_encoder: what is its own; the rest is common/rpc/backend_server.h.
#ifndef SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_SERVER_H_
#define SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_SERVER_H_

#include <vector>

#include "common/api/server_status.h"
#include "common/base/compute_pool.h"
#include "common/clients/manifest_status.h"
#include "common/generations/generation_registry.h"
#include "common/generations/janitor.h"
#include "common/metrics/metrics.h"
#include "common/models/model_cache.h"
#include "common/rpc/backend_server.h"
#include "services/query_encoder/encode_engine.h"
#include "services/query_encoder/encoder_host.h"
#include "services/query_encoder/query_encoder_config.h"
#include "services/query_encoder/query_encoder_service.h"

namespace sightline {

struct EncodeDomain {
  using Config = QueryEncoderConfig;
  using Service = QueryEncoderService;
  static constexpr char kName[] = "query_encoder";
  static int Threads(const Config& config) { return config.compute.threads; }
  static void PrepareLibraries();

  EncodeDomain(const Config& config, MetricsRegistry* metrics, ComputePool* pool, Janitor* janitor);

  LoadedModels Models() const { return models.Loaded(); }
  std::vector<DeviceStatus> Devices() const { return models.Devices(); }
  static std::vector<int> ShardsOf(const HeldGeneration&) { return {}; }

  ModelCache models;
  GenerationRegistry<EncoderGeneration> generations;
  EncoderHost host;
  EncodeEngine engine;
};

using QueryEncoderServer = BackendServer<EncodeDomain>;

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_SERVER_H_
