#include "services/index_search/index_search_config.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/index/device_scan.h"

namespace sightline {
namespace {

// More than any machine has.
constexpr int kMostDevices = 64;

RowsPlace ReadRowsPlace(ConfigReader& root) {
  const std::string place = root.Choice("rows", "as_built", {"as_built", "memory", "disk"});
  if (place == "memory") return RowsPlace::kMemory;
  return place == "disk" ? RowsPlace::kDisk : RowsPlace::kAsBuilt;
}

// Distinct numbers from 0 to below `end`, of what `name` lists; others are problems.
std::vector<int> ReadNumbers(ConfigReader& section, absl::string_view name, int end,
                             absl::string_view what) {
  std::vector<int> numbers;
  for (const std::string& text : section.StringList(name)) {
    int number = 0;
    if (!absl::SimpleAtoi(text, &number) || number < 0 || number >= end) {
      section.AddProblem(name,
                         absl::StrCat("'", text, "' is no ", what, " number (0 to ", end - 1, ")"));
    } else if (std::count(numbers.begin(), numbers.end(), number) > 0) {
      section.AddProblem(name, absl::StrCat(number, " is named twice"));
    } else {
      numbers.push_back(number);
    }
  }
  return numbers;
}

SearchDeviceOptions ReadDeviceOptions(ConfigReader& root) {
  ConfigReader section = root.Section("device");
  SearchDeviceOptions options;
  const bool cuda = section.Choice("kind", "cpu", {"cpu", "cuda"}) == "cuda";
  options.numbers = ReadNumbers(section, "numbers", kMostDevices, "device");
  options.required = section.Bool("required", false);
  options.memory_limit = section.Bytes("memory_limit", 0, 1, std::numeric_limits<int64_t>::max());
  if (cuda) {
    auto devices = CudaScanDevices();
    if (devices.ok()) {
      options.devices = *std::move(devices);
    } else {
      section.AddProblem("kind", devices.status().message());
    }
    if (options.numbers.empty()) options.numbers = {0};
    return options;
  }
  for (const char* key : {"numbers", "required", "memory_limit"}) {
    if (section.Has(key)) section.AddProblem(key, "is of devices, and `device.kind` is cpu");
  }
  return SearchDeviceOptions();
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
