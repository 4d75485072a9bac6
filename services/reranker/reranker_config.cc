#include "services/reranker/reranker_config.h"

#include <algorithm>

#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/models/device_passes.h"

namespace sightline {

absl::StatusOr<RerankerConfig> ReadRerankerConfig(ConfigFile* file) {
  ConfigReader root = file->root();
  RerankerConfig config;
  RpcServerOptions ports;
  ports.listen = "0.0.0.0:7403";
  ports.metrics_listen = "0.0.0.0:9403";
  // A thousand uploads' worth of features would not fit; the router sends slices.
  ports.max_receive_bytes = limits::kMaxMessageBytes;
  // Slices wait here and not at the router: with fewer places than its queue has slices, those
  // beyond would be refused though there is time for them.
  ports.max_concurrent_calls = 256;
  config.server = ReadRpcServerOptions(root, ports);
  config.store = ReadStoreConfig(root);
  config.generations = ReadGenerationOptions(root, config.store);
  config.compute = ReadComputeConfig(root);
  config.precision = ReadPrecisionOptions(root, config.compute);
  config.place = ReadModelPlaceConfig(root);
  // A pass of a device is as large as a batch may be.
  const bool on_cpu = config.place.execution.on_cpu();
  BatchSchedulerOptions batching;
  batching.max_batch_cost = on_cpu ? 4096 : kDevicePassRows;
  batching.max_batch_size = on_cpu ? 128 : 1024;
  // One lays out a pass while the device computes another.
  batching.workers = on_cpu ? 1 : 2;
  batching.max_queue_cost = 262144;
  config.engine.batching = ReadBatchSchedulerOptions(root, "batching", batching);
  config.engine.max_reading = std::max(1, config.server.max_concurrent_calls * 3 / 4);
  config.engine.max_candidates = static_cast<int>(root.Section("limits").Int(
      "max_candidates", limits::kMaxCandidates, 1, limits::kMaxCandidates));
  RETURN_IF_ERROR(file->Finish());
  return config;
}

}  // namespace sightline
