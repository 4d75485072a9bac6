// Composition root of index_search: what is its own; the rest is common/rpc/backend_server.h.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVER_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVER_H_

#include <vector>

#include "common/api/server_status.h"
#include "common/base/compute_pool.h"
#include "common/clients/manifest_status.h"
#include "common/generations/generation_registry.h"
#include "common/generations/janitor.h"
#include "common/metrics/metrics.h"
#include "common/rpc/backend_server.h"
#include "services/index_search/index_search_config.h"
#include "services/index_search/index_search_service.h"
#include "services/index_search/search_devices.h"
#include "services/index_search/search_engine.h"
#include "services/index_search/search_host.h"

namespace sightline {

struct SearchDomain {
  using Config = IndexSearchConfig;
  using Service = IndexSearchService;
  static constexpr char kName[] = "index_search";
  static int Threads(const Config& config) { return config.threads; }
  static void PrepareLibraries();

  SearchDomain(const Config& config, MetricsRegistry* metrics, ComputePool* pool, Janitor* janitor);

  LoadedModels Models() const { return {}; }
  std::vector<DeviceStatus> Devices() const { return devices.Describe(); }
  static std::vector<int> ShardsOf(const HeldGeneration& entry);

  GenerationRegistry<SearchGeneration> generations;
  SearchDevices devices;
  SearchHost host;
  SearchEngine engine;
};

using IndexSearchServer = BackendServer<SearchDomain>;

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_SERVER_H_
