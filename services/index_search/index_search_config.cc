#include "services/index_search/index_search_config.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

RowsPlace ReadRowsPlace(ConfigReader& root) {
  const std::string place = root.Choice("rows", "as_built", {"as_built", "memory", "disk"});
  if (place == "memory") return RowsPlace::kMemory;
  return place == "disk" ? RowsPlace::kDisk : RowsPlace::kAsBuilt;
}

}  // namespace

absl::StatusOr<IndexSearchConfig> ReadIndexSearchConfig(ConfigFile* file) {
  ConfigReader root = file->root();
  IndexSearchConfig config;
  RpcServerOptions ports;
  ports.listen = "0.0.0.0:7402";
  ports.metrics_listen = "0.0.0.0:9402";
  config.server = ReadRpcServerOptions(root, ports);
  config.store = ReadStoreConfig(root);
  config.generations = ReadGenerationOptions(root, config.store);
  config.threads = ReadComputeThreads(root);
  for (const std::string& text : root.StringList("shards")) {
    int shard = 0;
    if (!absl::SimpleAtoi(text, &shard) || shard < 0 || shard >= limits::kMaxShards) {
      root.AddProblem("shards", absl::StrCat("'", text, "' is no shard number (0 to ",
                                             limits::kMaxShards - 1, ")"));
    } else if (std::count(config.shards.begin(), config.shards.end(), shard) > 0) {
      root.AddProblem("shards", absl::StrCat(shard, " is named twice"));
    } else {
      config.shards.push_back(shard);
    }
  }
  config.rows = ReadRowsPlace(root);
  BatchSchedulerOptions batching;
  batching.max_batch_cost = limits::kMaxQueries;
  batching.max_batch_size = 64;
  batching.max_queue_cost = 4096;
  config.engine.batching = ReadBatchSchedulerOptions(root, "batching", batching);
  if (config.engine.batching.max_batch_cost < config.engine.max_queries) {
    root.Section("batching")
        .AddProblem("max_batch_cost", absl::StrCat("must be at least ", config.engine.max_queries,
                                                   ", the most queries of one request"));
  }
  RETURN_IF_ERROR(file->Finish());
  return config;
}

}  // namespace sightline
