// The family "uniter": UNITER's cross-encoder, the re-ranker of LightningDOT (see net.h
// for the network).
//
// An image's item features are its projected region rows (tensor "regions", rows x H).  The
// score is the raw number of rank_output (score kind rank_raw), or the softmax probability
// or logit of itm_output's "match" (softmax_match, logit_match).
#include <memory>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/models/family_manifests.h"
#include "common/models/family_models.h"
#include "common/models/network/executor.h"
#include "common/models/network/network_host.h"
#include "common/models/network/packing.h"
#include "common/models/network/tensor_gate.h"
#include "common/models/uniter/net.h"

namespace sightline {
namespace {

class UniterNetwork : public CrossEncoderNetwork {
 public:
  UniterNetwork(const bundle::v1::ModelBundleManifest& manifest, std::shared_ptr<UniterNetImpl> net,
                const TensorGate& gate, std::unique_ptr<const TransformerExecutor> executor)
      : net_(std::move(net)),
        gate_(gate),
        executor_(std::move(executor)),
        reading_(uniter::kManifest.region_reading(manifest)),
        hidden_size_(manifest.transformer().hidden_size()) {}

  absl::StatusOr<ImageNumbers> ReadImage(const ImageInput& image) const override {
    ImageNumbers numbers;
    ASSIGN_OR_RETURN(numbers.regions, ReadRegions(image.regions, reading_));
    return numbers;
  }

  std::vector<FeatureLayout> image_layout() const override {
    return {FeatureLayout::Rows("regions", hidden_size_, reading_.max_count)};
  }

  FeatureRows PrepareImage(const ImageNumbers& image) const override {
    return {net_->trunk().RegionRows(
        gate_.Rows(image.regions.features, reading_.feature_size),
        gate_.Rows(image.regions.boxes, BoxNumberCount(BoxForm::kUniter)))};
  }

  PreparedText PrepareText(TokenSpan ids) const override {
    return {net_->trunk().TextRows(gate_.Ids(ids))};
  }

  at::Tensor ScorePairs(absl::Span<const NetworkPair> pairs) const override {
    std::vector<SequenceParts> sequences;
    for (const NetworkPair& pair : pairs) sequences.push_back({(*pair.text)[0], pair.image[0]});
    const at::Tensor first = executor_->Run(Pack(sequences), Readout::kFirstRows);
    return net_->Head(net_->Pooled(first));
  }

 private:
  const std::shared_ptr<UniterNetImpl> net_;
  const TensorGate gate_;
  const std::unique_ptr<const TransformerExecutor> executor_;
  const RegionReading reading_;
  const int64_t hidden_size_;
};

absl::StatusOr<NetworkParts> MakeUniter(const ModelBundle& bundle, NetworkHost* host) {
  NetworkParts parts;
  ASSIGN_OR_RETURN(parts.text, TextInput::Create(bundle));
  ASSIGN_OR_RETURN(parts.gate, host->BlocksGate());
  ASSIGN_OR_RETURN(auto net, host->Load<UniterNetImpl>(bundle, {}, parts.gate));
  ASSIGN_OR_RETURN(auto executor, host->Executor(net->trunk().encoder()));
  parts.network = std::make_unique<UniterNetwork>(bundle.manifest, std::move(net), parts.gate,
                                                  std::move(executor));
  return parts;
}

}  // namespace

const FamilyModel uniter::kModel = NetworkFamily<UniterNetImpl, &MakeUniter>();

}  // namespace sightline
