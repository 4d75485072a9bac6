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
#include "common/models/network/masked_network.h"
#include "common/models/network/network_host.h"
#include "common/models/network/packing.h"
#include "common/models/network/tensor_gate.h"
#include "common/models/uniter/net.h"

namespace sightline {
namespace {

class UniterNetwork : public CrossEncoderNetwork, public MaskedNetwork {
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
    return {RegionRows({&image, {}}, {})};
  }

  PreparedText PrepareText(TokenSpan ids) const override {
    return {net_->trunk().TextRows(gate_.Ids(ids))};
  }

  at::Tensor ScorePairs(absl::Span<const NetworkPair> pairs) const override {
    std::vector<SequenceParts> sequences;
    for (const NetworkPair& pair : pairs) sequences.push_back({(*pair.text)[0], pair.image[0]});
    return PairScores(executor_->Run(Pack(sequences), Readout::kFirstRows));
  }

  at::Tensor PairScores(const at::Tensor& first_rows) const override {
    return net_->Head(net_->Pooled(first_rows));
  }

  bool has_two_towers() const override { return false; }
  bool reads_scene_text() const override { return false; }
  LastRows TextRows(absl::Span<const TokenSpan>) const override { return {}; }
  LastRows ImageRows(absl::Span<const ShownImage>, const at::Tensor&) const override { return {}; }

  LastRows PairRows(absl::Span<const TokenSpan> texts, absl::Span<const ShownImage> images,
                    const at::Tensor& hidden_feature) const override {
    std::vector<SequenceParts> sequences;
    for (size_t i = 0; i < texts.size(); ++i) {
      sequences.push_back(
          {net_->trunk().TextRows(gate_.Ids(texts[i])), RegionRows(images[i], hidden_feature)});
    }
    LastRows last{Pack(sequences), executor_.get(), {}, {}, {}};
    const PackedParts& packed = last.packed;
    last.text = last.regions = BeginsOf(packed.lengths);
    for (size_t i = 0; i < texts.size(); ++i) {
      last.regions[i] += static_cast<int64_t>(texts[i].size());
    }
    return last;
  }

  at::Tensor text_words() const override { return net_->trunk().words(); }
  at::Tensor image_words() const override { return net_->trunk().words(); }
  at::Tensor region_weight() const override { return net_->trunk().feature_weight(); }

 private:
  at::Tensor RegionRows(const ShownImage& shown, const at::Tensor& hidden_feature) const {
    const RegionNumbers& regions = shown.image->regions;
    return net_->trunk().RegionRows(
        ShownFeatures(gate_.Rows(regions.features, reading_.feature_size), shown.hidden,
                      hidden_feature),
        gate_.Rows(regions.boxes, BoxNumberCount(BoxForm::kUniter)));
  }

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
  ASSIGN_OR_RETURN(auto net, host->Load<UniterNetImpl>(bundle, PretrainingHeadNames(), parts.gate));
  ASSIGN_OR_RETURN(auto executor, host->Executor(net->trunk().encoder()));
  parts.network = std::make_unique<UniterNetwork>(bundle.manifest, std::move(net), parts.gate,
                                                  std::move(executor));
  return parts;
}

}  // namespace

const FamilyModel uniter::kModel = NetworkFamily<UniterNetImpl, &MakeUniter>();

}  // namespace sightline
