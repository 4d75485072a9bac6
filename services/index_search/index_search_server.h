// Composition root of index_search.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVER_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVER_H_

#include "common/base/compute_pool.h"
#include "common/generations/generation_follower.h"
#include "common/generations/generation_registry.h"
#include "common/generations/janitor.h"
#include "common/metrics/metrics.h"
#include "common/rpc/admin_service.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/server_process.h"
#include "services/index_search/index_search_config.h"
#include "services/index_search/index_search_service.h"
#include "services/index_search/search_engine.h"
#include "services/index_search/search_host.h"

namespace sightline {

class IndexSearchServer : public ServerProcess {
 public:
  explicit IndexSearchServer(const IndexSearchConfig& config);
  ~IndexSearchServer() override;

  absl::Status Start() override;
  RpcServer* rpc() override { return &rpc_; }

 private:
  ServerStatus Status(const StatusRequest& request);

  MetricsRegistry metrics_;
  ComputePool pool_;
  Janitor janitor_;
  GenerationRegistry<SearchGeneration> generations_;
  SearchHost host_;
  SearchEngine engine_;
  RpcServer rpc_;
  IndexSearchService service_;
  GenerationFollower follower_;
  AdminService admin_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVER_H_
