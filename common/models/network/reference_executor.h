// The blocks themselves, in float32: what every other executor is compared with.
//
// Includes torch: only .cc files of common/models include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_REFERENCE_EXECUTOR_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_REFERENCE_EXECUTOR_H_

#include <memory>

#include "common/models/network/executor.h"

namespace sightline {

// See NewExecutor.
std::unique_ptr<const TransformerExecutor> NewReferenceExecutor(BertEncoder encoder);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_REFERENCE_EXECUTOR_H_
