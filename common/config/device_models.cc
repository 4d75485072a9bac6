#include "common/config/device_models.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/kernels/device_stack.h"

namespace sightline {

ModelPlaceConfig ReadModelPlaceConfig(ConfigReader root) {
  const DeviceConfig device = ReadDeviceConfig(root, /*most=*/1);
  ModelPlaceConfig config;
  if (device.numbers.empty()) return config;
  config.device_memory_limit = device.memory_limit;
  auto devices = kernels::CudaStackDevices();
  if (!devices.ok()) {
    root.Section("device").AddProblem("kind", devices.status().message());
    return config;
  }
  config.execution.device = absl::StrCat("cuda:", device.numbers[0]);
  config.execution.devices = *std::move(devices);
  return config;
}

ModelCacheOptions ModelCacheOptionsOf(const StoreConfig& store, const ComputeConfig& compute,
                                      const PrecisionOptions& precision,
                                      const ModelPlaceConfig& place) {
  ModelCacheOptions options;
  options.store = store.store;
  options.verify = store.verify;
  options.model.deterministic = compute.deterministic;
  options.model.execution = place.execution;
  options.precision = precision;
  options.device_memory_limit = place.device_memory_limit;
  return options;
}

}  // namespace sightline
