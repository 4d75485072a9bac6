// Composition root of reranker.
#ifndef SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVER_H_
#define SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVER_H_

#include <string>

#include "common/base/compute_pool.h"
#include "common/bundle/generation_registry.h"
#include "common/metrics/metrics.h"
#include "common/models/model_cache.h"
#include "common/rpc/admin_service.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/server_process.h"
#include "services/reranker/rerank_engine.h"
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
  absl::Status LoadIndex(const std::string& index);
  absl::Status WarmUp();
  ServerStatus Status() const;

  const RerankerConfig config_;
  MetricsRegistry metrics_;
  ComputePool pool_;
  ModelCache models_;
  GenerationRegistry<RerankGeneration> generations_;
  RerankEngine engine_;
  RpcServer rpc_;
  RerankerService service_;
  AdminService admin_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVER_H_
