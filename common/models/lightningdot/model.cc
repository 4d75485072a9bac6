// The family "lightningdot": two towers and an inner product ("LightningDOT", Sun et al.,
// 2021), and the same with the text in a picture behind its regions (scene-text aware
// cross-modal retrieval).
//
//   text   [CLS] tokens [SEP]                         a BERT of its own
//   image  [CLS] regions [[SEP] words in the picture]  a UNITER trunk of its own
//
// The embedding is row 0 of the last layer, not pooled, through the tower's projection
// (Linear, GELU, LN, Linear) if the bundle has one, as all released checkpoints do.  It is
// not normalised unless the bundle's metric says so.  Retrieval only.
//
// What the scene-text paper leaves open is in the bundle (SceneTextSpec): how many wordpieces
// are read, where their positions start, their segment, and whether a picture without text
// has a lone [SEP].  Words come in reading order and keep their case.
#include <memory>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/models/family_manifests.h"
#include "common/models/family_models.h"
#include "common/models/lightningdot/net.h"
#include "common/models/network/executor.h"
#include "common/models/network/masked_network.h"
#include "common/models/network/network_host.h"
#include "common/models/network/packing.h"
#include "common/models/network/tensor_gate.h"

namespace sightline {
namespace {

class LightningDotNetwork : public BiEncoderNetwork, public MaskedNetwork {
 public:
  LightningDotNetwork(const bundle::v1::ModelBundleManifest& manifest,
                      std::shared_ptr<const TextInput> text,
                      std::shared_ptr<LightningDotNetImpl> net, const TensorGate& gate,
                      std::unique_ptr<const TransformerExecutor> text_executor,
                      std::unique_ptr<const TransformerExecutor> image_executor)
      : text_(std::move(text)),
        net_(std::move(net)),
        gate_(gate),
        text_executor_(std::move(text_executor)),
        image_executor_(std::move(image_executor)),
        reading_(lightningdot::kManifest.region_reading(manifest)),
        reads_scene_text_(manifest.has_scene_text()),
        scene_text_(manifest.scene_text()) {}

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
    return net_->text().Project(text_executor_->Run(TextParts(texts), Readout::kFirstRows));
  }

  at::Tensor EncodeImages(absl::Span<const ImageNumbers* const> images) const override {
    std::vector<ShownImage> shown;
    for (const ImageNumbers* image : images) shown.push_back({image, {}});
    return net_->image().Project(image_executor_->Run(ImageParts(shown, {}), Readout::kFirstRows));
  }

  bool has_two_towers() const override { return true; }
  bool reads_scene_text() const override { return reads_scene_text_; }

  LastRows TextRows(absl::Span<const TokenSpan> texts) const override {
    LastRows last{TextParts(texts), text_executor_.get(), {}, {}, {}};
    last.text = BeginsOf(last.packed.lengths);
    return last;
  }

  LastRows ImageRows(absl::Span<const ShownImage> images,
                     const at::Tensor& hidden_feature) const override {
    LastRows last{ImageParts(images, hidden_feature), image_executor_.get(), {}, {}, {}};
    last.text = BeginsOf(last.packed.lengths);
    for (size_t i = 0; i < images.size(); ++i) {
      last.regions.push_back(last.text[i] + 1);
      last.ids.push_back(last.regions[i] + images[i].image->regions.count);
    }
    return last;
  }

  LastRows PairRows(absl::Span<const TokenSpan>, absl::Span<const ShownImage>,
                    const at::Tensor&) const override {
    return {};
  }

  at::Tensor text_words() const override { return net_->text().trunk().words(); }
  at::Tensor image_words() const override { return net_->image().trunk().words(); }
  at::Tensor region_weight() const override { return net_->image().trunk().feature_weight(); }

 private:
  PackedParts TextParts(absl::Span<const TokenSpan> texts) const {
    std::vector<SequenceParts> sequences;
    for (const TokenSpan text : texts) {
      sequences.push_back({net_->text().trunk().TextRows(gate_.Ids(text))});
    }
    return Pack(sequences);
  }

  PackedParts ImageParts(absl::Span<const ShownImage> images,
                         const at::Tensor& hidden_feature) const {
    UniterTrunkImpl& trunk = net_->image().trunk();
    const at::Tensor cls = trunk.TextRows(gate_.Ids({text_->cls_id()}));
    std::vector<SequenceParts> sequences;
    for (const ShownImage& shown : images) {
      const RegionNumbers& regions = shown.image->regions;
      SequenceParts parts = {
          cls, trunk.RegionRows(ShownFeatures(gate_.Rows(regions.features, reading_.feature_size),
                                              shown.hidden, hidden_feature),
                                gate_.Rows(regions.boxes, BoxNumberCount(BoxForm::kUniter)))};
      if (!shown.image->ids.empty()) {
        parts.push_back(trunk.TextRows(gate_.Ids(shown.image->ids), scene_text_.first_position(),
                                       scene_text_.token_type()));
      }
      sequences.push_back(std::move(parts));
    }
    return Pack(sequences);
  }

  const std::shared_ptr<const TextInput> text_;
  const std::shared_ptr<LightningDotNetImpl> net_;
  const TensorGate gate_;
  const std::unique_ptr<const TransformerExecutor> text_executor_;
  const std::unique_ptr<const TransformerExecutor> image_executor_;
  const RegionReading reading_;
  const bool reads_scene_text_;
  const bundle::v1::SceneTextSpec scene_text_;
};

absl::StatusOr<NetworkParts> MakeLightningDot(const ModelBundle& bundle, NetworkHost* host) {
  NetworkParts parts;
  ASSIGN_OR_RETURN(parts.text, TextInput::Create(bundle));
  ASSIGN_OR_RETURN(parts.gate, host->BlocksGate());
  ASSIGN_OR_RETURN(auto net,
                   host->Load<LightningDotNetImpl>(bundle, PretrainingHeadNames(), parts.gate));
  ASSIGN_OR_RETURN(auto text, host->Executor(net->text().trunk().encoder()));
  ASSIGN_OR_RETURN(auto image, host->Executor(net->image().trunk().encoder()));
  parts.network = std::make_unique<LightningDotNetwork>(
      bundle.manifest, parts.text, std::move(net), parts.gate, std::move(text), std::move(image));
  return parts;
}

}  // namespace

const FamilyModel lightningdot::kModel = NetworkFamily<LightningDotNetImpl, &MakeLightningDot>();

}  // namespace sightline
