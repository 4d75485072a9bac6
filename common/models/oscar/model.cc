// The family "oscar": bi-encoder and cross-encoder of one weight set (see net.h for
// the network).  Real checkpoints of OSCAR and VinVL as well as the demo's own small one.
//
// An image's item features are its projected region rows (tensor "regions", rows x H) and,
// if the bundle reads tags, their ids and [SEP] (tensor "tags").  Embeddings are the mean
// over all rows, scaled to length one if the bundle's metric is cosine.  Scores are the
// softmax probability of "match" (score kind softmax_match) or its logit alone (logit_match,
// as MMT-Retrieval ranks); the two rankings differ.
#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <string>
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
#include "common/models/oscar/net.h"

namespace sightline {
namespace {

class OscarNetwork : public Network, public MaskedNetwork {
 public:
  OscarNetwork(const bundle::v1::ModelBundleManifest& manifest,
               std::shared_ptr<const TextInput> text, std::shared_ptr<OscarNetImpl> net,
               const TensorGate& gate, std::unique_ptr<const TransformerExecutor> executor)
      : text_(std::move(text)),
        net_(std::move(net)),
        gate_(gate),
        executor_(std::move(executor)),
        reading_(oscar::kManifest.region_reading(manifest)),
        hidden_size_(manifest.transformer().hidden_size()),
        reads_tags_(manifest.has_tags()),
        tags_(manifest.tags()) {}

  absl::StatusOr<ImageNumbers> ReadImage(const ImageInput& image) const override {
    ImageNumbers numbers;
    ASSIGN_OR_RETURN(numbers.regions, ReadRegions(image.regions, reading_));
    if (!reads_tags_) return numbers;
    // The text before them has a token and two special ones at least.
    ASSIGN_OR_RETURN(numbers.ids, text_->TokensOf(image.tags, max_tag_count() - 1));
    numbers.ids.push_back(text_->sep_id());
    return numbers;
  }

  at::Tensor EncodeTexts(absl::Span<const TokenSpan> texts) const override {
    std::vector<SequenceParts> sequences;
    for (const TokenSpan text : texts) sequences.push_back({net_->TextRows(gate_.Ids(text))});
    return executor_->RunMeans(Pack(sequences));
  }

  at::Tensor EncodeImages(absl::Span<const ImageNumbers* const> images) const override {
    const at::Tensor cls = net_->TextRows(gate_.Ids({text_->cls_id()}));
    std::vector<SequenceParts> sequences;
    for (const ImageNumbers* image : images)
      sequences.push_back({cls, RegionRows({image, {}}, {})});
    return executor_->RunMeans(Pack(sequences));
  }

  std::vector<FeatureLayout> image_layout() const override {
    std::vector<FeatureLayout> layout = {
        FeatureLayout::Rows("regions", hidden_size_, reading_.max_count)};
    if (reads_tags_) layout.push_back(FeatureLayout::Ids("tags", max_tag_count()));
    return layout;
  }

  FeatureRows PrepareImage(const ImageNumbers& image) const override {
    FeatureRows rows = {RegionRows({&image, {}}, {})};
    if (reads_tags_) rows.push_back(gate_.Ids(image.ids));
    return rows;
  }

  PreparedText PrepareText(TokenSpan ids) const override {
    return {net_->TextRows(gate_.Ids(ids))};
  }

  at::Tensor ScorePairs(absl::Span<const NetworkPair> pairs) const override {
    std::vector<SequenceParts> sequences;
    for (const NetworkPair& pair : pairs) {
      SequenceParts parts;
      parts.push_back((*pair.text)[0]);
      if (reads_tags_) {
        AppendTags(gate_.Tensor(pair.image[1]), static_cast<int64_t>(pair.ids.size()), &parts);
      }
      parts.push_back(pair.image[0]);
      sequences.push_back(std::move(parts));
    }
    return PairScores(executor_->Run(Pack(sequences), Readout::kFirstRows));
  }

  at::Tensor PairScores(const at::Tensor& first_rows) const override {
    return net_->MatchLogits(first_rows);
  }

  bool has_two_towers() const override { return false; }
  bool reads_scene_text() const override { return false; }
  bool reads_tags() const override { return reads_tags_; }
  int64_t TagsReadBeside(const ImageNumbers& image, int64_t text) const override {
    return TagCount(static_cast<int64_t>(image.ids.size()), text);
  }
  LastRows TextRows(absl::Span<const TokenSpan>) const override { return {}; }
  LastRows ImageRows(absl::Span<const ShownImage>, const at::Tensor&) const override { return {}; }

  LastRows PairRows(absl::Span<const TokenSpan> texts, absl::Span<const ShownImage> images,
                    const at::Tensor& hidden_feature) const override {
    std::vector<SequenceParts> sequences;
    for (size_t i = 0; i < texts.size(); ++i) {
      SequenceParts parts = {net_->TextRows(gate_.Ids(texts[i]))};
      if (reads_tags_) {
        AppendTags(gate_.Ids(images[i].image->ids), static_cast<int64_t>(texts[i].size()), &parts);
      }
      parts.push_back(RegionRows(images[i], hidden_feature));
      sequences.push_back(std::move(parts));
    }
    LastRows last{Pack(sequences), executor_.get(), {}, {}, {}};
    const PackedParts& packed = last.packed;
    last.text = last.regions = last.ids = BeginsOf(packed.lengths);
    for (size_t i = 0; i < texts.size(); ++i) {
      last.regions[i] += packed.lengths[i] - images[i].image->regions.count;
      last.ids[i] += static_cast<int64_t>(texts[i].size());
    }
    return last;
  }

  at::Tensor text_words() const override { return net_->words(); }
  at::Tensor image_words() const override { return net_->words(); }
  at::Tensor region_weight() const override { return net_->feature_weight(); }

 private:
  int64_t max_tag_count() const { return tags_.max_token_count() - 3; }

  at::Tensor RegionRows(const ShownImage& shown, const at::Tensor& hidden_feature) const {
    const at::Tensor features = gate_.Rows(shown.image->regions.features, reading_.feature_size);
    if (shown.hidden.empty()) return net_->RegionRows(features);
    // The box, behind the feature, is all that tells hidden regions apart.
    const int64_t box = BoxNumberCount(reading_.box_form), own = reading_.feature_size - box;
    const at::Tensor seen = ShownFeatures(features, shown.hidden, hidden_feature);
    return net_->RegionRows(at::cat({seen.narrow(1, 0, own), features.narrow(1, own, box)}, 1));
  }

  // How many positions a text of `text` tokens leaves to `ids` ones of an image, [SEP] included.
  int64_t TagPositions(int64_t ids, int64_t text) const {
    if (ids <= 1) return 0;  // an image without tags
    return std::max<int64_t>(0, std::min(ids, tags_.max_token_count() - text));
  }
  int64_t TagCount(int64_t ids, int64_t text) const {
    return std::max<int64_t>(0, TagPositions(ids, text) - 1);
  }

  // `tags`, ids, behind a text of `text` tokens, in what that leaves of the positions.
  void AppendTags(const at::Tensor& tags, int64_t text, SequenceParts* parts) const {
    if (TagPositions(tags.size(0), text) == 0) return;
    const int64_t kept = TagCount(tags.size(0), text);
    const at::Tensor ids = at::cat({tags.narrow(0, 0, kept), tags.narrow(0, tags.size(0) - 1, 1)});
    parts->push_back(net_->TextRows(ids, text, tags_.token_type()));
  }

  const std::shared_ptr<const TextInput> text_;
  const std::shared_ptr<OscarNetImpl> net_;
  const TensorGate gate_;
  const std::unique_ptr<const TransformerExecutor> executor_;
  const RegionReading reading_;
  const int64_t hidden_size_;
  const bool reads_tags_;
  const bundle::v1::TagSpec tags_;
};

// Tensors that OSCAR checkpoints may hold and this model has no use for.
std::vector<std::string> IgnoredWeights(const bundle::v1::ModelBundleManifest& manifest) {
  std::vector<std::string> ignored = PretrainingHeadNames();
  ignored.push_back("bert.embeddings.position_ids");
  if (!manifest.has_cross_encoder()) {
    ignored.insert(ignored.end(), {"bert.pooler.", "classifier."});
  }
  return ignored;
}

absl::StatusOr<NetworkParts> MakeOscar(const ModelBundle& bundle, NetworkHost* host) {
  const bundle::v1::ModelBundleManifest& manifest = bundle.manifest;
  NetworkParts parts;
  ASSIGN_OR_RETURN(parts.text, TextInput::Create(bundle));
  ASSIGN_OR_RETURN(parts.gate, host->BlocksGate());
  ASSIGN_OR_RETURN(auto net,
                   host->Load<OscarNetImpl>(bundle, IgnoredWeights(manifest), parts.gate));
  ASSIGN_OR_RETURN(auto executor, host->Executor(net->encoder()));
  if (manifest.has_grid_extractor()) {
    ASSIGN_OR_RETURN(parts.region_extractor,
                     host->Extractor(net->grid(), manifest.grid_extractor()));
  }
  parts.network = std::make_unique<OscarNetwork>(manifest, parts.text, std::move(net), parts.gate,
                                                 std::move(executor));
  return parts;
}

}  // namespace

const FamilyModel oscar::kModel = NetworkFamily<OscarNetImpl, &MakeOscar>();

}  // namespace sightline
