// Configuration of index_search; README.md lists every key.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_CONFIG_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_CONFIG_H_

#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/config/sections.h"
#include "common/rpc/rpc_options.h"
#include "services/index_search/search_devices.h"
#include "services/index_search/search_engine.h"
#include "services/index_search/search_host.h"

namespace sightline {

struct IndexSearchConfig {
  RpcServerOptions server;
  StoreConfig store;
  GenerationOptions generations;
  // Shards to hold, of every index; empty: all of them.
  std::vector<int> shards;
  RowsPlace rows = RowsPlace::kAsBuilt;
  int threads = 1;  // that scan at once
  SearchDeviceOptions devices;
  SearchEngineOptions engine;
};

// Reads and finishes `file`: InvalidArgument with every problem.
absl::StatusOr<IndexSearchConfig> ReadIndexSearchConfig(ConfigFile* file);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_INDEX_SEARCH_CONFIG_H_
