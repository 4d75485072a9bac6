// A bundle's network, to be learnt.
//
// Includes torch: only .cc files of common/training and tests include this.
#ifndef SIGHTLINE_COMMON_MODELS_TRAINABLE_H_
#define SIGHTLINE_COMMON_MODELS_TRAINABLE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/bundle/model_bundle.h"
#include "common/models/network/trainable_network.h"

namespace sightline {

// Of a verified bundle.  InvalidArgument for a family that is not learnt (an ensemble, a script),
// and as LoadModel.
absl::StatusOr<std::unique_ptr<TrainableNetwork>> LoadTrainable(const ModelBundle& bundle,
                                                                const TrainableOptions& options);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_TRAINABLE_H_
