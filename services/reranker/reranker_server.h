// Composition root of reranker: what is its own; the rest is common/rpc/backend_server.h.
#ifndef SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVER_H_
#define SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVER_H_

#include <vector>

#include "common/api/server_status.h"
#include "common/base/compute_pool.h"
#include "common/clients/manifest_status.h"
#include "common/generations/generation_registry.h"
#include "common/generations/janitor.h"
#include "common/metrics/metrics.h"
#include "common/models/model_cache.h"
#include "common/rpc/backend_server.h"
#include "services/reranker/rerank_engine.h"
#include "services/reranker/rerank_host.h"
#include "services/reranker/reranker_config.h"
#include "services/reranker/reranker_service.h"

namespace sightline {

struct RerankDomain {
  using Config = RerankerConfig;
  using Service = RerankerService;
  static constexpr char kName[] = "reranker";
  static int Threads(const Config& config) { return config.compute.threads; }
  static void PrepareLibraries();

  RerankDomain(const Config& config, MetricsRegistry* metrics, ComputePool* pool, Janitor* janitor);

  LoadedModels Models() const { return models.Loaded(); }
  std::vector<DeviceStatus> Devices() const { return models.Devices(); }
  static std::vector<int> ShardsOf(const HeldGeneration&) { return {}; }

  ModelCache models;
  GenerationRegistry<RerankGeneration> generations;
  RerankHost host;
  RerankEngine engine;
};

using RerankerServer = BackendServer<RerankDomain>;

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVER_H_
