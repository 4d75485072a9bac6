// The family "vldeformer": OSCAR's trunk taken apart into two passes ("VLDeformer", Zhang et
// al., 2022; the released code where paper and code differ).
//
//   text   [CLS] caption [SEP], segment 0                     padded to text_length
//   image  [CLS] tags [SEP], segment 1, padded to tag_length; regions padded to region_count
//
// The embedding is the mean over ALL rows of the last layer, those of padding included, then
// tanh; or, where the bundle says so, tanh of the first row, which the paper compares it with.  So
// the lengths are part of the checkpoint (FixedLengthSpec).  A padded token is word 0
// at its own position, of segment 0 (of tags: of the segment that the bundle says), a padded
// region the image of a zero vector; neither is seen by others.  Retrieval only.
#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/models/family_manifests.h"
#include "common/models/family_models.h"
#include "common/models/network/executor.h"
#include "common/models/network/network_host.h"
#include "common/models/network/packing.h"
#include "common/models/network/row_dropout.h"
#include "common/models/network/tensor_gate.h"
#include "common/models/oscar/net.h"

namespace sightline {
namespace {

// The trunk alone; keys bert.*.
class VlDeformerNetImpl : public torch::nn::Module {
 public:
  explicit VlDeformerNetImpl(const bundle::v1::ModelBundleManifest& manifest)
      : trunk_(register_module("bert", OscarTrunk(manifest.transformer(), /*with_pooler=*/false,
                                                  BertConfig().dropout))),
        dropout_(register_module("dropout", RowDropout(BertConfig().dropout))) {}
  OscarTrunkImpl& trunk() { return *trunk_; }
  // Means of rows, or first ones -> embeddings, before any normalisation.
  at::Tensor Embeddings(const at::Tensor& rows) { return at::tanh(dropout_->OfItems(rows)); }

 private:
  OscarTrunk trunk_;
  RowDropout dropout_;
};

class VlDeformerNetwork : public BiEncoderNetwork {
 public:
  VlDeformerNetwork(const bundle::v1::ModelBundleManifest& manifest,
                    std::shared_ptr<const TextInput> text, std::shared_ptr<VlDeformerNetImpl> net,
                    const TensorGate& gate, std::unique_ptr<const TransformerExecutor> executor)
      : text_(std::move(text)),
        net_(std::move(net)),
        gate_(gate),
        executor_(std::move(executor)),
        reading_(vldeformer::kManifest.region_reading(manifest)),
        lengths_(manifest.fixed_lengths()),
        tag_type_(manifest.tags().token_type()),
        of_first_row_(manifest.embedding().rows() == bundle::v1::EmbeddingSpec::FIRST_ROW) {}

  absl::StatusOr<ImageNumbers> ReadImage(const ImageInput& image) const override {
    ImageNumbers numbers;
    ASSIGN_OR_RETURN(numbers.regions, ReadRegions(image.regions, reading_));
    ASSIGN_OR_RETURN(numbers.ids, text_->TokensOf(image.tags, lengths_.tag_length() - 2));
    numbers.ids.insert(numbers.ids.begin(), text_->cls_id());
    numbers.ids.push_back(text_->sep_id());
    return numbers;
  }

  ItemShape TextShape(int64_t) const override { return {lengths_.text_length(), 0}; }
  ItemShape ImageShape(const ImageNumbers&) const override {
    return {lengths_.tag_length(), lengths_.region_count()};
  }

  at::Tensor EncodeTexts(absl::Span<const TokenSpan> texts) const override {
    std::vector<SequenceParts> sequences;
    std::vector<at::Tensor> bias;
    for (const TokenSpan text : texts) {
      sequences.push_back(
          PaddedTokens(text, lengths_.text_length(), /*type=*/0, /*padding_type=*/0));
      bias.push_back(KeyBias(text.size(), lengths_.text_length()));
    }
    return Embed(sequences, bias);
  }

  at::Tensor EncodeImages(absl::Span<const ImageNumbers* const> images) const override {
    std::vector<SequenceParts> sequences;
    std::vector<at::Tensor> bias;
    for (const ImageNumbers* image : images) {
      SequenceParts parts =
          PaddedTokens(image->ids, lengths_.tag_length(), tag_type_, lengths_.tag_padding_type());
      parts.push_back(PaddedRegions(image->regions));
      sequences.push_back(std::move(parts));
      bias.push_back(KeyBias(image->ids.size(), lengths_.tag_length()));
      bias.push_back(KeyBias(image->regions.count, lengths_.region_count()));
    }
    return Embed(sequences, bias);
  }

 private:
  // `count` numbers, those beyond the first `real` so that nobody sees their rows.
  at::Tensor KeyBias(int64_t real, int64_t count) const {
    at::Tensor bias = gate_.Zeros({count});
    bias.narrow(0, real, count - real).fill_(kMaskedScore);
    return bias;
  }

  SequenceParts PaddedTokens(TokenSpan ids, int64_t length, int64_t type,
                             int64_t padding_type) const {
    const int64_t real = static_cast<int64_t>(ids.size());
    SequenceParts parts = {net_->trunk().TextRows(gate_.Ids(ids), 0, type)};
    if (real == length) return parts;
    const at::Tensor padding = gate_.Zeros({length - real}, at::kLong);
    parts.push_back(net_->trunk().TextRows(padding, real, padding_type));
    return parts;
  }

  at::Tensor PaddedRegions(const RegionNumbers& regions) const {
    at::Tensor features = gate_.Zeros({lengths_.region_count(), reading_.feature_size});
    features.narrow(0, 0, regions.count).copy_(gate_.Rows(regions.features, reading_.feature_size));
    return net_->trunk().RegionRows(features);
  }

  at::Tensor Embed(const std::vector<SequenceParts>& sequences,
                   const std::vector<at::Tensor>& bias) const {
    PackedParts packed = Pack(sequences);
    packed.key_bias = at::cat(bias);
    return net_->Embeddings(of_first_row_ ? executor_->Run(packed, Readout::kFirstRows)
                                          : executor_->RunMeans(packed));
  }

  const std::shared_ptr<const TextInput> text_;
  const std::shared_ptr<VlDeformerNetImpl> net_;
  const TensorGate gate_;
  const std::unique_ptr<const TransformerExecutor> executor_;
  const RegionReading reading_;
  const bundle::v1::FixedLengthSpec lengths_;
  const int64_t tag_type_;
  const bool of_first_row_;
};

absl::StatusOr<NetworkParts> MakeVlDeformer(const ModelBundle& bundle, NetworkHost* host) {
  NetworkParts parts;
  ASSIGN_OR_RETURN(parts.text, TextInput::Create(bundle));
  ASSIGN_OR_RETURN(parts.gate, host->BlocksGate());
  ASSIGN_OR_RETURN(auto net, host->Load<VlDeformerNetImpl>(bundle, {}, parts.gate));
  ASSIGN_OR_RETURN(auto executor, host->Executor(net->trunk().encoder(), /*has_key_bias=*/true));
  parts.network = std::make_unique<VlDeformerNetwork>(bundle.manifest, parts.text, std::move(net),
                                                      parts.gate, std::move(executor));
  return parts;
}

}  // namespace

const FamilyModel vldeformer::kModel = NetworkFamily<VlDeformerNetImpl, &MakeVlDeformer>();

}  // namespace sightline
