// Composition root of index_search.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVER_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVER_H_

#include <string>

#include "common/base/compute_pool.h"
#include "common/bundle/desired_generation.h"
#include "common/bundle/generation_registry.h"
#include "common/metrics/metrics.h"
#include "common/rpc/admin_service.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/server_process.h"
#include "services/index_search/index_search_config.h"
#include "services/index_search/index_search_service.h"
#include "services/index_search/search_engine.h"

namespace sightline {

class IndexSearchServer : public ServerProcess {
 public:
  explicit IndexSearchServer(const IndexSearchConfig& config);
  ~IndexSearchServer() override;

  absl::Status Start() override;
  RpcServer* rpc() override { return &rpc_; }

 private:
  absl::Status LoadIndex(const std::string& index);
  absl::StatusOr<SearchableShard> OpenShard(const DesiredGeneration& desired, int shard);
  ServerStatus Status() const;

  const IndexSearchConfig config_;
  MetricsRegistry metrics_;
  ComputePool pool_;
  GenerationRegistry<SearchGeneration> generations_;
  SearchEngine engine_;
  RpcServer rpc_;
  IndexSearchService service_;
  AdminService admin_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVER_H_
