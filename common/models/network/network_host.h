// What a family's network is put into: a model that serves, or one that learns.  A family says
// once what its network is made of; the host says where it computes and how its blocks are run.
//
// Includes torch: only .cc files of common/models include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_NETWORK_HOST_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_NETWORK_HOST_H_

#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/bundle/model_bundle.h"
#include "common/models/network/executor.h"
#include "common/models/network/grid_extractor.h"
#include "common/models/network/net_loading.h"
#include "common/models/network/network_model.h"
#include "common/models/network/tensor_gate.h"
#include "common/models/network/trainable_network.h"

namespace sightline {

// For the time of one load; not thread-safe.
class NetworkHost {
 public:
  virtual ~NetworkHost() = default;

  // Where tensors are: of a network with transformer blocks, and of one without, which LibTorch
  // alone computes.  Errors as GateOf.
  virtual absl::StatusOr<TensorGate> BlocksGate() = 0;
  virtual absl::StatusOr<TensorGate> TorchGate() = 0;

  // The module with the bundle's weights; errors as LoadNet.
  template <typename Net>
  absl::StatusOr<std::shared_ptr<Net>> Load(const ModelBundle& bundle,
                                            const std::vector<std::string>& ignored,
                                            const TensorGate& gate) {
    ASSIGN_OR_RETURN(std::shared_ptr<Net> net, LoadNet<Net>(bundle, ignored, gate));
    RETURN_IF_ERROR(Adopt(net));
    return net;
  }

  // What runs the blocks of `encoder`, a part of the module; as NewExecutor.
  virtual absl::StatusOr<std::unique_ptr<const TransformerExecutor>> Executor(
      BertEncoder encoder, bool has_key_bias = false) = 0;

  // As NewGridExtractor; null where the module learns, which reads regions.
  virtual absl::StatusOr<std::unique_ptr<const RegionExtractor>> Extractor(
      GridNet net, const bundle::v1::GridExtractorSpec& spec) = 0;

 private:
  // Is told of the module before anything is made of its parts.
  virtual absl::Status Adopt(std::shared_ptr<torch::nn::Module> net) = 0;
};

// What a family defines in its model.cc: what its network is made of, of a bundle whose manifest
// its family has checked.
using MakeNetwork = absl::StatusOr<NetworkParts>(const ModelBundle& bundle, NetworkHost* host);

// The network in a model that serves, as LoadModel; and as one learns, as LoadTrainable.
absl::StatusOr<std::shared_ptr<const Model>> ServedNetwork(MakeNetwork* make,
                                                           const ModelBundle& bundle,
                                                           const ModelOptions& options);
absl::StatusOr<std::unique_ptr<TrainableNetwork>> LearningNetwork(MakeNetwork* make,
                                                                  const ModelBundle& bundle,
                                                                  const TrainableOptions& options);

// A family whose network is `make`'s, of the torch module `Net`.
template <typename Net, MakeNetwork* make>
constexpr FamilyModel NetworkFamily() {
  return {[](const ModelBundle& bundle, const ModelOptions& options) {
            return ServedNetwork(make, bundle, options);
          },
          &InitialWeightsOf<Net>,
          [](const ModelBundle& bundle, const TrainableOptions& options) {
            return LearningNetwork(make, bundle, options);
          }};
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_NETWORK_HOST_H_
