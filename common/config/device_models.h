// Where the models of a server or a job compute, and how they are loaded, by its configuration.
#ifndef SIGHTLINE_COMMON_CONFIG_DEVICE_MODELS_H_
#define SIGHTLINE_COMMON_CONFIG_DEVICE_MODELS_H_

#include <cstdint>

#include "common/config/config.h"
#include "common/config/sections.h"
#include "common/models/execution.h"
#include "common/models/model_cache.h"
#include "common/models/precision/policy.h"

namespace sightline {

struct ModelPlaceConfig {
  Execution execution;  // but for the precision
  int64_t device_memory_limit = 0;
};

// The section `device`; a problem where this program was built without CUDA and it asks for it.
ModelPlaceConfig ReadModelPlaceConfig(ConfigReader root);

// What a configuration says of models, of those of `store`; the pool, and who is told of what, are
// whose who loads them.
ModelCacheOptions ModelCacheOptionsOf(const StoreConfig& store, const ComputeConfig& compute,
                                      const PrecisionOptions& precision,
                                      const ModelPlaceConfig& place);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CONFIG_DEVICE_MODELS_H_
