// Composition root of reranker.
#ifndef SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVER_H_
#define SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVER_H_

#include "common/base/compute_pool.h"
#include "common/generations/generation_follower.h"
#include "common/generations/generation_registry.h"
#include "common/generations/janitor.h"
#include "common/metrics/metrics.h"
#include "common/models/model_cache.h"
#include "common/rpc/admin_service.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/server_process.h"
#include "services/reranker/rerank_engine.h"
#include "services/reranker/rerank_host.h"
#include "services/reranker/reranker_config.h"
#include "services/reranker/reranker_service.h"

namespace sightline {

class RerankerServer : public ServerProcess {
 public:
  explicit RerankerServer(const RerankerConfig& config);
  ~RerankerServer() override;

  absl::Status Start() override;
  RpcServer* rpc() override { return &rpc_; }

 private:
  ServerStatus Status(const StatusRequest& request);

  MetricsRegistry metrics_;
  ComputePool pool_;
  Janitor janitor_;
  ModelCache models_;
  GenerationRegistry<RerankGeneration> generations_;
  RerankHost host_;
  RerankEngine engine_;
  RpcServer rpc_;
  RerankerService service_;
  GenerationFollower follower_;
  AdminService admin_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVER_H_
