// The model that every family's network is put into: checks inputs, groups, calls the network
// and reads results out.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_NETWORK_MODEL_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_NETWORK_MODEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/bundle/model_bundle.h"
#include "common/models/inputs/text_input.h"
#include "common/models/model.h"
#include "common/models/network/network.h"
#include "common/models/network/tensor_gate.h"

namespace sightline {

// What a family makes of a bundle.
struct NetworkParts {
  TensorGate gate;
  std::shared_ptr<const TextInput> text;
  std::unique_ptr<const Network> network;
  // Null when the model takes precomputed regions only.
  std::unique_ptr<const RegionExtractor> region_extractor;
};

// The parts as a model: a bi-encoder if the manifest, checked before, has an embedding, a
// cross-encoder if it has one.  InvalidArgument for options that make no sense.
absl::StatusOr<std::shared_ptr<const Model>> NewNetworkModel(const ModelBundle& bundle,
                                                             const ModelOptions& options,
                                                             NetworkParts parts);

// The network of a model that NewNetworkModel made; null of any other.  For tests that look
// at more than scores.
const Network* NetworkOf(const Model& model);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_NETWORK_MODEL_H_
