// The family "sgraf": SGRAF's modules SAF and SGR as cross-encoders, with the published global
// node or with T-EMDE's sketches (see net.h for the network).  SGRAF itself is the
// ensemble of a SAF and an SGR (common/models/ensemble).
//
// An image has exactly SgrafSpec.region_count regions, without boxes, in the detector's order,
// which matters: its batch norm knows each region's place.  Its item features are the
// projected regions (tensor "regions", rows x E) and, unless there is no global node, what stands
// for the whole image (tensor "whole", 1 x E; of T-EMDE the sketch, 1 x N K).  A text is read once
// per query.
//
// What T-EMDE's paper leaves open: a node is as wide as the others, text sketch before image
// sketch, no l2n after its ReLU; and of what SGR reads the score where it has no global node: of
// row 0 all the same, which is the first token's.
#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/models/family_manifests.h"
#include "common/models/family_models.h"
#include "common/models/inference.h"
#include "common/models/network/executor.h"
#include "common/models/network/network_host.h"
#include "common/models/network/tensor_gate.h"
#include "common/models/network/weights.h"
#include "common/models/sgraf/net.h"

namespace sightline {
namespace {

using bundle::v1::SgrafSpec;

class SgrafNetwork : public CrossEncoderNetwork {
 public:
  SgrafNetwork(const bundle::v1::ModelBundleManifest& manifest, std::shared_ptr<SgrafNetImpl> net,
               const TensorGate& gate)
      : net_(std::move(net)),
        gate_(gate),
        reading_(sgraf::kManifest.region_reading(manifest)),
        spec_(manifest.sgraf()) {}

  absl::StatusOr<ImageNumbers> ReadImage(const ImageInput& image) const override {
    ImageNumbers numbers;
    ASSIGN_OR_RETURN(numbers.regions, ReadRegions(image.regions, reading_));
    return numbers;
  }

  std::vector<FeatureLayout> image_layout() const override {
    FeatureLayout regions =
        FeatureLayout::Rows("regions", spec_.embedding_size(), spec_.region_count());
    regions.min_rows = regions.max_rows;
    if (!net_->similarity().has_global_node()) return {std::move(regions)};
    const int64_t whole = spec_.has_emde()
                              ? spec_.emde().partition_count() * spec_.emde().cell_count()
                              : spec_.embedding_size();
    return {std::move(regions), FeatureLayout::Rows("whole", whole, /*max_rows=*/1)};
  }

  FeatureRows PrepareImage(const ImageNumbers& image) const override {
    return PrepareImages({&image})[0];
  }

  PreparedText PrepareText(TokenSpan ids) const override { return PrepareTexts({ids})[0]; }

  std::vector<FeatureRows> PrepareImages(
      absl::Span<const ImageNumbers* const> images) const override {
    std::vector<at::Tensor> features;
    for (const ImageNumbers* image : images) {
      features.push_back(gate_.Rows(image->regions.features, reading_.feature_size));
    }
    const std::vector<int64_t> lengths(images.size(), spec_.region_count());
    const at::Tensor regions =
        net_->Regions(features.size() == 1 ? features[0] : at::cat(features));
    // Taken apart at once, which has one step backwards.
    std::vector<FeatureRows> prepared;
    for (at::Tensor& own : regions.split(spec_.region_count())) {
      prepared.push_back({std::move(own)});
    }
    if (!net_->similarity().has_global_node()) return prepared;
    std::vector<at::Tensor> wholes = net_->similarity().ImageGlobals(regions, lengths).split(1);
    for (size_t i = 0; i < images.size(); ++i) prepared[i].push_back(std::move(wholes[i]));
    return prepared;
  }

  std::vector<PreparedText> PrepareTexts(absl::Span<const TokenSpan> texts) const override {
    std::vector<int64_t> lengths;
    std::vector<at::Tensor> ids;
    for (const TokenSpan text : texts) {
      lengths.push_back(static_cast<int64_t>(text.size()));
      ids.push_back(gate_.Ids(text));
    }
    const at::Tensor words = net_->Words(ids.size() == 1 ? ids[0] : at::cat(ids), lengths);
    std::vector<PreparedText> prepared;
    for (at::Tensor& own : words.split_with_sizes(lengths)) prepared.push_back({std::move(own)});
    if (!net_->similarity().has_global_node()) return prepared;
    std::vector<at::Tensor> wholes = net_->similarity().TextGlobals(words, lengths).unbind();
    for (size_t i = 0; i < texts.size(); ++i) prepared[i].push_back(std::move(wholes[i]));
    return prepared;
  }

  at::Tensor ScorePairs(absl::Span<const NetworkPair> pairs) const override {
    std::vector<at::Tensor> scores;
    for (size_t begin = 0; begin < pairs.size();) {
      size_t end = begin + 1;
      while (end < pairs.size() && pairs[end].ids.size() == pairs[begin].ids.size()) ++end;
      scores.push_back(ScoreEqual(pairs.subspan(begin, end - begin)));
      begin = end;
    }
    return at::cat(scores);
  }

 private:
  // Pairs with equally many words.  A query's are all of one text, which is not copied for each.
  at::Tensor ScoreEqual(absl::Span<const NetworkPair> pairs) const {
    const bool has_global = net_->similarity().has_global_node();
    const bool is_one_text = std::all_of(pairs.begin(), pairs.end(), [&](const NetworkPair& pair) {
      return pair.text == pairs[0].text;
    });
    std::vector<at::Tensor> regions, images, words, texts;
    for (const NetworkPair& pair : pairs) {
      regions.push_back(gate_.Tensor(pair.image[0]));
      if (has_global) images.push_back(gate_.Tensor(pair.image[1]).squeeze(0));
    }
    for (const NetworkPair& pair : is_one_text ? pairs.first(1) : pairs) {
      words.push_back((*pair.text)[0]);
      if (has_global) texts.push_back((*pair.text)[1]);
    }
    const auto stacked = [&](const std::vector<at::Tensor>& wholes) {
      return has_global ? at::stack(wholes) : at::Tensor();
    };
    return net_->similarity().Score(at::stack(regions), stacked(images), at::stack(words),
                                    stacked(texts));
  }

  const std::shared_ptr<SgrafNetImpl> net_;
  const TensorGate gate_;
  const RegionReading reading_;
  const SgrafSpec spec_;
};

absl::StatusOr<NetworkParts> MakeSgraf(const ModelBundle& bundle, NetworkHost* host) {
  NetworkParts parts;
  ASSIGN_OR_RETURN(parts.text, TextInput::Create(bundle));
  ASSIGN_OR_RETURN(parts.gate, host->TorchGate());
  ASSIGN_OR_RETURN(auto net, host->Load<SgrafNetImpl>(bundle, {}, parts.gate));
  parts.network = std::make_unique<SgrafNetwork>(bundle.manifest, std::move(net), parts.gate);
  return parts;
}

absl::StatusOr<std::string> InitialWeights(const bundle::v1::ModelBundleManifest& manifest,
                                           uint64_t seed, WeightDtype dtype) {
  std::shared_ptr<SgrafNetImpl> net;
  RETURN_IF_ERROR(RunGuarded("build the network", [&] {
    net = std::make_shared<SgrafNetImpl>(manifest);
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(RandomizeSgraf(seed, net.get()));
  return SerializeWeights(*net, dtype);
}

constexpr FamilyModel Family() {
  FamilyModel family = NetworkFamily<SgrafNetImpl, &MakeSgraf>();
  family.initial_weights = &InitialWeights;
  return family;
}

}  // namespace

const FamilyModel sgraf::kModel = Family();

}  // namespace sightline
