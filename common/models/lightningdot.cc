#include "common/models/lightningdot.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/models/lightningdot_net.h"
#include "common/models/net_loading.h"
#include "common/models/network_model.h"

namespace sightline {
namespace {

class LightningDotNetwork : public BiEncoderNetwork {
 public:
  LightningDotNetwork(const bundle::v1::ModelBundleManifest& manifest,
                      std::shared_ptr<const TextInput> text,
                      std::shared_ptr<LightningDotNetImpl> net)
      : text_(std::move(text)),
        net_(std::move(net)),
        text_executor_(NewReferenceExecutor(net_->text().trunk().encoder())),
        image_executor_(NewReferenceExecutor(net_->image().trunk().encoder())),
        reading_(RegionReadingOf(manifest, BoxForm::kUniter)),
        reads_scene_text_(manifest.has_scene_text()),
        scene_text_(manifest.scene_text()) {}

  std::vector<int> region_feature_sizes() const override { return FeatureSizesOf(reading_); }

  absl::StatusOr<ImageNumbers> ReadImage(const ImageInput& image) const override {
    ImageNumbers numbers;
    ASSIGN_OR_RETURN(numbers.regions, ReadRegions(image.regions, reading_));
    if (!reads_scene_text_) return numbers;
    ASSIGN_OR_RETURN(numbers.ids, text_->TokensOf(image.ocr_tokens, scene_text_.max_token_count()));
    if (!numbers.ids.empty() || scene_text_.separator_when_empty()) {
      numbers.ids.insert(numbers.ids.begin(), text_->sep_id());
    }
    return numbers;
  }

  at::Tensor EncodeTexts(absl::Span<const TokenSpan> texts) const override {
    std::vector<SequenceParts> sequences;
    for (const TokenSpan text : texts) {
      sequences.push_back({net_->text().trunk().TextRows(IdTensor(text))});
    }
    return net_->text().Project(text_executor_->Run(Pack(sequences), Readout::kFirstRows));
  }

  at::Tensor EncodeImages(absl::Span<const ImageNumbers* const> images) const override {
    UniterTrunkImpl& trunk = net_->image().trunk();
    const at::Tensor cls = trunk.TextRows(IdTensor({text_->cls_id()}));
    std::vector<SequenceParts> sequences;
    for (const ImageNumbers* image : images) {
      SequenceParts parts = {
          cls, trunk.RegionRows(RowsOf(image->regions.features, reading_.feature_size),
                                RowsOf(image->regions.boxes, BoxNumberCount(BoxForm::kUniter)))};
      if (!image->ids.empty()) {
        parts.push_back(trunk.TextRows(IdTensor(image->ids), scene_text_.first_position(),
                                       scene_text_.token_type()));
      }
      sequences.push_back(std::move(parts));
    }
    return net_->image().Project(image_executor_->Run(Pack(sequences), Readout::kFirstRows));
  }

 private:
  const std::shared_ptr<const TextInput> text_;
  const std::shared_ptr<LightningDotNetImpl> net_;
  const std::unique_ptr<TransformerExecutor> text_executor_;
  const std::unique_ptr<TransformerExecutor> image_executor_;
  const RegionReading reading_;
  const bool reads_scene_text_;
  const bundle::v1::SceneTextSpec scene_text_;
};

absl::StatusOr<std::shared_ptr<const Model>> LoadLightningDot(const ModelBundle& bundle,
                                                              const ModelOptions& options) {
  NetworkParts parts;
  ASSIGN_OR_RETURN(parts.text, TextInput::Create(bundle));
  ASSIGN_OR_RETURN(auto net, LoadNet<LightningDotNetImpl>(bundle, {}));
  parts.network =
      std::make_unique<LightningDotNetwork>(bundle.manifest, parts.text, std::move(net));
  return NewNetworkModel(bundle, options, std::move(parts));
}

}  // namespace

Family LightningDotFamily() {
  return {"lightningdot", &LoadLightningDot, &InitialWeightsOf<LightningDotNetImpl>};
}

}  // namespace sightline
