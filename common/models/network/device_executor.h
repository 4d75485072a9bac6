// Blocks on a device.
//
// Includes torch: only .cc files of common/models include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_DEVICE_EXECUTOR_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_DEVICE_EXECUTOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/models/network/executor.h"

namespace sightline {

// See NewExecutor.  On number `device` of `execution.devices`, which are not null.  Takes the
// blocks' weights: `encoder` is left without any.
absl::StatusOr<std::unique_ptr<const TransformerExecutor>> NewDeviceExecutor(
    BertEncoder encoder, const Execution& execution, int device, bool has_key_bias);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_DEVICE_EXECUTOR_H_
