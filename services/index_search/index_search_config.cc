#include "services/index_search/index_search_config.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/index/device_scan.h"

namespace sightline {
namespace {

RowsPlace ReadRowsPlace(ConfigReader& root) {
  const std::string place = root.Choice("rows", "as_built", {"as_built", "memory", "disk"});
  if (place == "memory") return RowsPlace::kMemory;
  return place == "disk" ? RowsPlace::kDisk : RowsPlace::kAsBuilt;
}

SearchDeviceOptions ReadDeviceOptions(ConfigReader& root) {
  DeviceConfig config = ReadDeviceConfig(root, /*most=*/64);
  ConfigReader section = root.Section("device");
  SearchDeviceOptions options;
  options.required = section.Bool("required", false);
  options.memory_limit = config.memory_limit;
  options.numbers = std::move(config.numbers);
  if (options.numbers.empty()) {
    if (section.Has("required")) {
      section.AddProblem("required", "is of devices, and `device.kind` is cpu");
    }
    return SearchDeviceOptions();
  }
  auto devices = CudaScanDevices();
  if (devices.ok()) {
    options.devices = *std::move(devices);
  } else {
    section.AddProblem("kind", devices.status().message());
  }
  return options;
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
  config.shards = ReadNumbers(root, "shards", limits::kMaxShards, "shard");
  config.rows = ReadRowsPlace(root);
  config.devices = ReadDeviceOptions(root);
  BatchSchedulerOptions batching;
  batching.max_batch_cost = limits::kMaxQueries;
  // A device is the faster the more queries share what it reads.
  batching.max_batch_size = config.devices.devices == nullptr ? 64 : limits::kMaxQueries;
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
