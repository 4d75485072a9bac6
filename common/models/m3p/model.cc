// The family "m3p": multilingual, bi-encoder and cross-encoder of one weight set ("M3P", Ni et
// al., 2021, as MMT-Retrieval uses it).
//
//   text   <s> tokens </s>                       mean -> embedding
//   image  regions <s>                           mean -> embedding
//   pair   regions <s> tokens </s>               pooler on row 0, a region -> two logits
//
// Positions count over the whole sequence, regions included and first: so region order
// matters, and a text behind R regions starts at position R.  There are no segments.  Every
// sequence is computed at its own length; the reference agrees where it does not pad, which
// is where all images of its batch have equally many regions.
//
// An image's item features are its region rows, positions in place (tensor "regions", rows x
// H).
#include <memory>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/models/family_manifests.h"
#include "common/models/family_models.h"
#include "common/models/m3p/net.h"
#include "common/models/network/executor.h"
#include "common/models/network/network_host.h"
#include "common/models/network/packing.h"
#include "common/models/network/tensor_gate.h"

namespace sightline {
namespace {

class M3pNetwork : public Network {
 public:
  M3pNetwork(const bundle::v1::ModelBundleManifest& manifest, std::shared_ptr<const TextInput> text,
             std::shared_ptr<M3pNetImpl> net, const TensorGate& gate,
             std::unique_ptr<const TransformerExecutor> executor)
      : text_(std::move(text)),
        net_(std::move(net)),
        gate_(gate),
        executor_(std::move(executor)),
        reading_(m3p::kManifest.region_reading(manifest)),
        hidden_size_(manifest.transformer().hidden_size()) {}

  absl::StatusOr<ImageNumbers> ReadImage(const ImageInput& image) const override {
    ImageNumbers numbers;
    ASSIGN_OR_RETURN(numbers.regions, ReadRegions(image.regions, reading_));
    return numbers;
  }

  at::Tensor EncodeTexts(absl::Span<const TokenSpan> texts) const override {
    std::vector<SequenceParts> sequences;
    for (const TokenSpan text : texts) {
      sequences.push_back({net_->At(net_->Words(gate_.Ids(text)), 0)});
    }
    return executor_->RunMeans(Pack(sequences));
  }

  at::Tensor EncodeImages(absl::Span<const ImageNumbers* const> images) const override {
    const at::Tensor start = net_->Words(gate_.Ids({text_->cls_id()}));
    std::vector<SequenceParts> sequences;
    for (const ImageNumbers* image : images) {
      sequences.push_back({RegionRows(*image), net_->At(start, image->regions.count)});
    }
    return executor_->RunMeans(Pack(sequences));
  }

  std::vector<FeatureLayout> image_layout() const override {
    return {FeatureLayout::Rows("regions", hidden_size_, reading_.max_count)};
  }

  FeatureRows PrepareImage(const ImageNumbers& image) const override { return {RegionRows(image)}; }

  // Where they stand depends on the image; what they are does not.
  PreparedText PrepareText(TokenSpan ids) const override { return {net_->Words(gate_.Ids(ids))}; }

  at::Tensor ScorePairs(absl::Span<const NetworkPair> pairs) const override {
    std::vector<SequenceParts> sequences;
    for (const NetworkPair& pair : pairs) {
      const ItemRows& regions = pair.image[0];
      sequences.push_back({regions, net_->At((*pair.text)[0], regions.count())});
    }
    const at::Tensor first = executor_->Run(Pack(sequences), Readout::kFirstRows);
    return net_->MatchLogits(net_->Pooled(first));
  }

 private:
  at::Tensor RegionRows(const ImageNumbers& image) const {
    return net_->At(net_->Regions(gate_.Rows(image.regions.features, reading_.feature_size),
                                  gate_.Rows(image.regions.boxes, BoxNumberCount(BoxForm::kM3p))),
                    0);
  }

  const std::shared_ptr<const TextInput> text_;
  const std::shared_ptr<M3pNetImpl> net_;
  const TensorGate gate_;
  const std::unique_ptr<const TransformerExecutor> executor_;
  const RegionReading reading_;
  const int64_t hidden_size_;
};

absl::StatusOr<NetworkParts> MakeM3p(const ModelBundle& bundle, NetworkHost* host) {
  NetworkParts parts;
  ASSIGN_OR_RETURN(parts.text, TextInput::Create(bundle));
  ASSIGN_OR_RETURN(parts.gate, host->BlocksGate());
  ASSIGN_OR_RETURN(auto net, host->Load<M3pNetImpl>(bundle, {}, parts.gate));
  ASSIGN_OR_RETURN(auto executor, host->Executor(net->encoder()));
  parts.network = std::make_unique<M3pNetwork>(bundle.manifest, parts.text, std::move(net),
                                               parts.gate, std::move(executor));
  return parts;
}

}  // namespace

const FamilyModel m3p::kModel = NetworkFamily<M3pNetImpl, &MakeM3p>();

}  // namespace sightline
