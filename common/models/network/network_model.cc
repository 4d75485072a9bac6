#include "common/models/network/network_model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/models/family_manifests.h"
#include "common/models/inference.h"
#include "common/models/network/model_core.h"
#include "common/models/network/network_cross_encoder.h"

namespace sightline {
namespace {

// Row j of `rows` becomes row group[j] of `matrix`.
absl::Status StoreRows(const at::Tensor& rows, const Group& group, absl::string_view kind,
                       EmbeddingMatrix* matrix) {
  const at::Tensor stored = TensorGate::Out(rows);
  const float* data = stored.data_ptr<float>();
  for (const int64_t i : group) {
    const absl::Span<float> row = matrix->mutable_row(i);
    std::copy(data, data + row.size(), row.begin());
    data += row.size();
    if (!AllFinite(absl::MakeConstSpan(row))) {
      return absl::InvalidArgumentError(absl::StrCat(
          kind, " ", i, " has an embedding that is not finite; its numbers are too large"));
    }
  }
  return absl::OkStatus();
}

class NetworkTextEncoder : public TextEncoder {
 public:
  explicit NetworkTextEncoder(const ModelCore* core) : core_(*core) {}

  absl::StatusOr<EmbeddingMatrix> Encode(absl::Span<const Tokens> texts,
                                         const CallContext& call) const override {
    std::vector<ItemShape> shapes;
    for (const Tokens& text : texts) {
      const absl::Status status = core_.text->Check(text.ids);
      if (!status.ok()) return AtItem("text", shapes.size(), status);
      shapes.push_back(core_.network->TextShape(static_cast<int64_t>(text.ids.size())));
    }
    EmbeddingMatrix matrix(texts.size(), core_.dimension);
    const auto encode = [&](const Group& group) {
      std::vector<TokenSpan> spans;
      for (const int64_t i : group) spans.push_back(texts[i].ids);
      return StoreRows(core_.network->EncodeTexts(spans), group, "text", &matrix);
    };
    RETURN_IF_ERROR(
        core_.Run(GroupByShape(shapes, core_.grouping()), call, "encode texts", encode));
    if (core_.cosine) NormalizeRows(matrix);
    return matrix;
  }

 private:
  const ModelCore& core_;
};

class NetworkImageEncoder : public ImageEncoder {
 public:
  explicit NetworkImageEncoder(const ModelCore* core) : core_(*core) {}

  absl::StatusOr<EmbeddingMatrix> Encode(absl::Span<const ImageInput> images,
                                         const CallContext& call) const override {
    ASSIGN_OR_RETURN(const std::vector<ImageNumbers> numbers, ReadImages(*core_.network, images));
    std::vector<ItemShape> shapes;
    for (const ImageNumbers& image : numbers) shapes.push_back(core_.network->ImageShape(image));
    EmbeddingMatrix matrix(images.size(), core_.dimension);
    const auto encode = [&](const Group& group) {
      std::vector<const ImageNumbers*> items;
      for (const int64_t i : group) items.push_back(&numbers[i]);
      return StoreRows(core_.network->EncodeImages(items), group, "image", &matrix);
    };
    RETURN_IF_ERROR(
        core_.Run(GroupByShape(shapes, core_.grouping()), call, "encode images", encode));
    if (core_.cosine) NormalizeRows(matrix);
    return matrix;
  }

 private:
  const ModelCore& core_;
};

class NetworkModel : public Model {
 public:
  NetworkModel(const ModelBundle& bundle, const ModelOptions& options, NetworkParts parts)
      : id_(bundle.id),
        space_(bundle.manifest.embedding().space()),
        region_feature_sizes_(RegionFeatureSizesOf(bundle.manifest)),
        region_extractor_(std::move(parts.region_extractor)) {
    core_.options = options;
    core_.gate = parts.gate;
    core_.text = std::move(parts.text);
    core_.network = std::move(parts.network);
    core_.dimension = bundle.manifest.embedding().dimension();
    core_.cosine = bundle.manifest.embedding().metric() == bundle::v1::EmbeddingSpec::COSINE;
    if (!bundle.manifest.has_embedding()) return;
    text_encoder_ = std::make_unique<NetworkTextEncoder>(&core_);
    image_encoder_ = std::make_unique<NetworkImageEncoder>(&core_);
  }

  void AddCrossEncoder(ScoreKind kind) { cross_encoder_ = NewNetworkCrossEncoder(&core_, kind); }

  absl::StatusOr<Tokens> Tokenize(absl::string_view text) const override {
    return core_.text->Tokenize(text);
  }
  const TextEncoder* text_encoder() const override { return text_encoder_.get(); }
  const ImageEncoder* image_encoder() const override { return image_encoder_.get(); }
  const CrossEncoder* cross_encoder() const override { return cross_encoder_.get(); }
  const RegionExtractor* region_extractor() const override { return region_extractor_.get(); }
  std::vector<int> region_feature_sizes() const override { return region_feature_sizes_; }
  const std::string& id() const override { return id_; }
  const std::string& space() const override { return space_; }
  int dimension() const override { return core_.dimension; }
  const Network* network() const { return core_.network.get(); }

 private:
  const std::string id_;
  const std::string space_;
  const std::vector<int> region_feature_sizes_;
  ModelCore core_;
  std::unique_ptr<const TextEncoder> text_encoder_;
  std::unique_ptr<const ImageEncoder> image_encoder_;
  std::unique_ptr<const CrossEncoder> cross_encoder_;
  const std::unique_ptr<const RegionExtractor> region_extractor_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Model>> NewNetworkModel(const ModelBundle& bundle,
                                                             const ModelOptions& options,
                                                             NetworkParts parts) {
  auto model = std::make_shared<NetworkModel>(bundle, options, std::move(parts));
  if (bundle.manifest.has_cross_encoder()) {
    ASSIGN_OR_RETURN(const ScoreKind kind,
                     ParseScoreKind(bundle.manifest.cross_encoder().score_kind()));
    model->AddCrossEncoder(kind);
  }
  return model;
}

const Network* NetworkOf(const Model& model) {
  const auto* known = dynamic_cast<const NetworkModel*>(&model);
  return known == nullptr ? nullptr : known->network();
}

}  // namespace sightline
