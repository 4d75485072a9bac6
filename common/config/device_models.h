// Where a server's models compute, by its configuration.
#ifndef SIGHTLINE_COMMON_CONFIG_DEVICE_MODELS_H_
#define SIGHTLINE_COMMON_CONFIG_DEVICE_MODELS_H_

#include <cstdint>

#include "common/config/config.h"
#include "common/models/execution.h"

namespace sightline {

struct ModelPlaceConfig {
  Execution execution;  // but for the precision
  int64_t device_memory_limit = 0;
};

// The section `device`; a problem where this program was built without CUDA and it asks for it.
ModelPlaceConfig ReadModelPlaceConfig(ConfigReader root);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CONFIG_DEVICE_MODELS_H_
