// A family's torch module from its bundle, and from nothing.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_NET_LOADING_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_NET_LOADING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/bundle/model_bundle.h"
#include "common/models/family_models.h"
#include "common/models/inference.h"
#include "common/models/network/tensor_gate.h"
#include "common/models/network/weights.h"

namespace sightline {

// `Net` is a torch module made of a manifest that its family has checked.  Returned in
// evaluation mode with the bundle's weights, on the gate's device.  Tensors whose names start with
// one of `ignored` may be in the file.  InvalidArgument as LoadWeights, and for a file that is
// shorter than what the manifest describes: no tensor is sized by a lie.
template <typename Net>
absl::StatusOr<std::shared_ptr<Net>> LoadNet(const ModelBundle& bundle,
                                             const std::vector<std::string>& ignored,
                                             const TensorGate& gate) {
  RETURN_IF_ERROR(CheckWeightsLength(bundle));
  std::shared_ptr<Net> net;
  RETURN_IF_ERROR(RunGuarded("build the network", [&] {
    net = std::make_shared<Net>(bundle.manifest);
    net->eval();
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(LoadBundleWeights(bundle, ignored, net.get()));
  RETURN_IF_ERROR(RunGuarded("put the network on its device", [&] {
    net->to(gate.device());
    return absl::OkStatus();
  }));
  return net;
}

// See FamilyModel::initial_weights.
template <typename Net>
absl::StatusOr<std::string> InitialWeightsOf(const bundle::v1::ModelBundleManifest& manifest,
                                             uint64_t seed, WeightDtype dtype) {
  std::shared_ptr<Net> net;
  RETURN_IF_ERROR(RunGuarded("build the network", [&] {
    net = std::make_shared<Net>(manifest);
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(RandomizeWeights(seed, net.get()));
  return SerializeWeights(*net, dtype);
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_NET_LOADING_H_
