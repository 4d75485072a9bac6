// Configuration of reranker; README.md lists every key.
#ifndef SIGHTLINE_SERVICES_RERANKER_RERANKER_CONFIG_H_
#define SIGHTLINE_SERVICES_RERANKER_RERANKER_CONFIG_H_

#include "common/config/config.h"
#include "common/config/device_models.h"
#include "common/config/sections.h"
#include "common/rpc/rpc_options.h"
#include "services/reranker/rerank_engine.h"

namespace sightline {

struct RerankerConfig {
  RpcServerOptions server;
  StoreConfig store;
  GenerationOptions generations;
  ComputeConfig compute;
  PrecisionOptions precision;
  ModelPlaceConfig place;
  RerankEngineOptions engine;
};

// Reads and finishes `file`: InvalidArgument with every problem.
absl::StatusOr<RerankerConfig> ReadRerankerConfig(ConfigFile* file);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_RERANKER_RERANKER_CONFIG_H_
