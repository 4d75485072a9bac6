#include "common/models/network/network_host.h"

#include <utility>

#include "common/models/network/region_linear.h"
#include "common/models/network/row_dropout.h"
#include "common/models/network/training_executor.h"

namespace sightline {
namespace {

class ServingHost : public NetworkHost {
 public:
  explicit ServingHost(const ModelOptions& options) : options_(options) {}

  absl::StatusOr<TensorGate> BlocksGate() override { return GateOf(options_.execution); }
  absl::StatusOr<TensorGate> TorchGate() override {
    RETURN_IF_ERROR(CheckUnchosenPrecision(options_.execution));
    return TorchGateOf(options_.execution);
  }

  absl::StatusOr<std::unique_ptr<const TransformerExecutor>> Executor(BertEncoder encoder,
                                                                      bool has_key_bias) override {
    return NewExecutor(std::move(encoder), options_.execution, options_.pool, has_key_bias);
  }

  absl::StatusOr<std::unique_ptr<const RegionExtractor>> Extractor(
      GridNet net, const bundle::v1::GridExtractorSpec& spec) override {
    return NewGridExtractor(std::move(net), spec, options_.execution, options_.pool);
  }

 private:
  absl::Status Adopt(std::shared_ptr<torch::nn::Module> net) override {
    return ComputeRegionsOn(options_.execution, net.get());
  }

  const ModelOptions options_;
};

class LearningHost : public NetworkHost {
 public:
  explicit LearningHost(const TrainableOptions& options)
      : options_(options), gate_(options.device) {}

  absl::StatusOr<TensorGate> BlocksGate() override { return gate_; }
  absl::StatusOr<TensorGate> TorchGate() override { return gate_; }

  absl::StatusOr<std::unique_ptr<const TransformerExecutor>> Executor(BertEncoder encoder,
                                                                      bool) override {
    return NewTrainingExecutor(std::move(encoder), gate_, options_.bfloat16);
  }

  absl::StatusOr<std::unique_ptr<const RegionExtractor>> Extractor(
      GridNet, const bundle::v1::GridExtractorSpec&) override {
    return nullptr;
  }

  std::shared_ptr<torch::nn::Module> module() const { return module_; }

 private:
  absl::Status Adopt(std::shared_ptr<torch::nn::Module> net) override {
    PrepareDropout(options_.dropout, net.get());
    module_ = std::move(net);
    return absl::OkStatus();
  }

  const TrainableOptions options_;
  const TensorGate gate_;
  std::shared_ptr<torch::nn::Module> module_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Model>> ServedNetwork(MakeNetwork* make,
                                                           const ModelBundle& bundle,
                                                           const ModelOptions& options) {
  ServingHost host(options);
  ASSIGN_OR_RETURN(NetworkParts parts, make(bundle, &host));
  return NewNetworkModel(bundle, options, std::move(parts));
}

absl::StatusOr<std::unique_ptr<TrainableNetwork>> LearningNetwork(MakeNetwork* make,
                                                                  const ModelBundle& bundle,
                                                                  const TrainableOptions& options) {
  LearningHost host(options);
  ASSIGN_OR_RETURN(NetworkParts parts, make(bundle, &host));
  auto learner = std::make_unique<TrainableNetwork>();
  learner->module = host.module();
  learner->network = std::move(parts.network);
  learner->text = std::move(parts.text);
  learner->has_towers = bundle.manifest.has_embedding();
  learner->has_cross_encoder = bundle.manifest.has_cross_encoder();
  learner->scores_probabilities = bundle.manifest.cross_encoder().score_kind() == "sigmoid";
  learner->cosine = bundle.manifest.embedding().metric() == bundle::v1::EmbeddingSpec::COSINE;
  return learner;
}

}  // namespace sightline
