// The family "torchscript": towers and a cross-encoder that come as scripted modules, so that
// a model of any architecture can be served.  README.md says what each module takes and gives.
#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/status_macros.h"
#include "common/models/family_manifests.h"
#include "common/models/family_models.h"
#include "common/models/inference.h"
#include "common/models/network/executor.h"
#include "common/models/network/network_model.h"
#include "common/models/network/tensor_gate.h"
#include "common/models/torchscript/extractor.h"
#include "common/models/torchscript/scripted_module.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;
using bundle::v1::TorchScriptSpec;

// Numbers that the head gives for a pair.
int64_t OutputsOf(const ModelBundleManifest& manifest) {
  const std::string& kind = manifest.cross_encoder().score_kind();
  return kind == ScoreKindName(ScoreKind::kSoftmaxMatch) ||
                 kind == ScoreKindName(ScoreKind::kLogitMatch)
             ? 2
             : 1;
}

// Items of one kind, padded with zeros to the longest: B x L x ..., and where they are: B x L.
struct Padded {
  at::Tensor values;
  at::Tensor mask;
};

Padded Pad(const std::vector<at::Tensor>& items) {
  int64_t longest = 0;
  for (const at::Tensor& item : items) longest = std::max(longest, item.size(0));
  std::vector<int64_t> shape = items[0].sizes().vec();
  shape[0] = longest;
  shape.insert(shape.begin(), static_cast<int64_t>(items.size()));
  Padded padded = {at::zeros(shape, items[0].options()),
                   at::zeros({shape[0], longest}, items[0].options().dtype(at::kFloat))};
  for (size_t i = 0; i < items.size(); ++i) {
    padded.values[i].narrow(0, 0, items[i].size(0)).copy_(items[i]);
    padded.mask[i].narrow(0, 0, items[i].size(0)).fill_(1);
  }
  return padded;
}

struct Modules {
  absl::optional<ScriptedModule> text_encoder;
  absl::optional<ScriptedModule> image_encoder;
  absl::optional<ScriptedModule> cross_encoder;
};

class TorchScriptNetwork : public Network {
 public:
  TorchScriptNetwork(const ModelBundleManifest& manifest, Modules modules, const TensorGate& gate)
      : modules_(std::move(modules)),
        gate_(gate),
        reading_(torchscript::kManifest.region_reading(manifest)),
        dimension_(manifest.embedding().dimension()),
        output_count_(OutputsOf(manifest)) {}

  // Calls every module with inputs of the least and the most rows, and notes what rows an
  // image's item features have.  Throws as ScriptedModule::Run.
  void TryModules(const TextInput& text) {
    const std::vector<int32_t> least = {text.cls_id(), text.sep_id()};
    std::vector<int32_t> most(text.max_token_count(), text.sep_id());
    most[0] = text.cls_id();
    const ImageNumbers one = Sample(1), many = Sample(reading_.max_count);
    if (dimension_ > 0) {
      EncodeTexts({most, least});
      EncodeImages({&many, &one});
    }
    if (!modules_.cross_encoder) return;
    const at::Tensor rows = Prepare(many, kAnyLength);
    max_row_count_ = rows.size(0);
    row_size_ = rows.size(1);
    const at::Tensor fewer = Prepare(one, row_size_);
    ScorePairs({NetworkPair{most, nullptr, {rows}}, NetworkPair{least, nullptr, {fewer}}});
  }

  absl::StatusOr<ImageNumbers> ReadImage(const ImageInput& image) const override {
    ImageNumbers numbers;
    ASSIGN_OR_RETURN(numbers.regions, ReadRegions(image.regions, reading_));
    return numbers;
  }

  // A script's own padding would cost what it computes of it.
  bool wants_equal_shapes() const override { return true; }

  at::Tensor EncodeTexts(absl::Span<const TokenSpan> texts) const override {
    const Padded ids = PadTexts(texts);
    return modules_.text_encoder->Run("forward", {ids.values, ids.mask},
                                      {{ids.mask.size(0), dimension_}})[0];
  }

  at::Tensor EncodeImages(absl::Span<const ImageNumbers* const> images) const override {
    std::vector<at::Tensor> features, boxes;
    for (const ImageNumbers* image : images) {
      features.push_back(FeaturesOf(*image));
      boxes.push_back(BoxesOf(*image));
    }
    const Padded padded = Pad(features);
    return modules_.image_encoder->Run("forward", {padded.values, Pad(boxes).values, padded.mask},
                                       {{padded.mask.size(0), dimension_}})[0];
  }

  std::vector<FeatureLayout> image_layout() const override {
    if (!modules_.cross_encoder) return {};
    return {FeatureLayout::Rows("rows", row_size_, max_row_count_)};
  }

  FeatureRows PrepareImage(const ImageNumbers& image) const override {
    const at::Tensor rows = Prepare(image, row_size_);
    if (rows.size(0) <= max_row_count_) return {rows};
    throw std::runtime_error(absl::StrCat(modules_.cross_encoder->file(), ", prepare gave ",
                                          rows.size(0), " rows, more than the ", max_row_count_,
                                          " of an image with the most regions"));
  }

  PreparedText PrepareText(TokenSpan) const override { return {}; }

  at::Tensor ScorePairs(absl::Span<const NetworkPair> pairs) const override {
    std::vector<TokenSpan> texts;
    std::vector<at::Tensor> images;
    for (const NetworkPair& pair : pairs) {
      texts.push_back(pair.ids);
      images.push_back(gate_.Tensor(pair.image[0]));
    }
    const Padded ids = PadTexts(texts), rows = Pad(images);
    return modules_.cross_encoder->Run("forward", {ids.values, ids.mask, rows.values, rows.mask},
                                       {{ids.mask.size(0), output_count_}})[0];
  }

 private:
  Padded PadTexts(absl::Span<const TokenSpan> texts) const {
    std::vector<at::Tensor> ids;
    for (const TokenSpan text : texts) ids.push_back(gate_.Ids(text));
    return Pad(ids);
  }

  at::Tensor FeaturesOf(const ImageNumbers& image) const {
    return gate_.Rows(image.regions.features, reading_.feature_size);
  }

  at::Tensor BoxesOf(const ImageNumbers& image) const {
    return gate_.Rows(image.regions.boxes, BoxNumberCount(BoxForm::kCorners));
  }

  // At least one row.
  at::Tensor Prepare(const ImageNumbers& image, int64_t row_size) const {
    const at::Tensor rows = modules_.cross_encoder->Run(
        "prepare", {FeaturesOf(image).unsqueeze(0), BoxesOf(image).unsqueeze(0)},
        {{1, kAnyLength, row_size}})[0];
    if (rows.numel() > 0) return rows.squeeze(0);
    throw std::runtime_error(
        absl::StrCat(modules_.cross_encoder->file(), ", prepare gave no rows"));
  }

  // An image of so many regions; no two numbers of a region are equal, for modules that
  // divide by a deviation.
  ImageNumbers Sample(int64_t count) const {
    ImageNumbers image;
    image.regions.count = count;
    for (int64_t i = 0; i < count * reading_.feature_size; ++i) {
      image.regions.features.push_back(0.1f * static_cast<float>(i % 17 + 1));
    }
    for (int64_t i = 0; i < count; ++i) {
      image.regions.boxes.insert(image.regions.boxes.end(), {0.25f, 0.25f, 1, 0.75f});
    }
    return image;
  }

  const Modules modules_;
  const TensorGate gate_;
  const RegionReading reading_;
  const int64_t dimension_;
  const int64_t output_count_;
  int64_t row_size_ = 0;
  int64_t max_row_count_ = 0;
};

absl::StatusOr<Modules> LoadModules(const ModelBundle& bundle, at::Device device) {
  const TorchScriptSpec& spec = bundle.manifest.torch_script();
  Modules modules;
  if (bundle.manifest.has_embedding()) {
    ASSIGN_OR_RETURN(ScriptedModule text,
                     ScriptedModule::Load(bundle, spec.text_encoder(), {{"forward", 2}}, device));
    ASSIGN_OR_RETURN(ScriptedModule image,
                     ScriptedModule::Load(bundle, spec.image_encoder(), {{"forward", 3}}, device));
    modules.text_encoder.emplace(std::move(text));
    modules.image_encoder.emplace(std::move(image));
  }
  if (bundle.manifest.has_cross_encoder()) {
    ASSIGN_OR_RETURN(ScriptedModule cross,
                     ScriptedModule::Load(bundle, spec.cross_encoder(),
                                          {{"forward", 4}, {"prepare", 2}}, device));
    modules.cross_encoder.emplace(std::move(cross));
  }
  return modules;
}

absl::StatusOr<std::shared_ptr<const Model>> LoadTorchScript(const ModelBundle& bundle,
                                                             const ModelOptions& options) {
  NetworkParts parts;
  ASSIGN_OR_RETURN(parts.text, TextInput::Create(bundle));
  RETURN_IF_ERROR(CheckUnchosenPrecision(options.execution));
  ASSIGN_OR_RETURN(parts.gate, TorchGateOf(options.execution));
  ASSIGN_OR_RETURN(Modules modules, LoadModules(bundle, parts.gate.device()));
  auto network =
      std::make_unique<TorchScriptNetwork>(bundle.manifest, std::move(modules), parts.gate);
  const Group once = {0};
  const absl::Status tried =
      RunGroups(/*pool=*/nullptr, absl::MakeConstSpan(&once, 1), CallContext::Unbounded(),
                "try the modules", [&](const Group&) {
                  network->TryModules(*parts.text);
                  return absl::OkStatus();
                });
  // What a module does is the bundle's fault, not ours.
  if (absl::IsInternal(tried)) return absl::InvalidArgumentError(tried.message());
  RETURN_IF_ERROR(tried);
  parts.network = std::move(network);
  ASSIGN_OR_RETURN(parts.region_extractor,
                   NewTorchScriptExtractor(bundle, options.execution, options.pool));
  return NewNetworkModel(bundle, options, std::move(parts));
}

absl::StatusOr<std::string> NoInitialWeights(const ModelBundleManifest&, uint64_t, WeightDtype) {
  return absl::InvalidArgumentError(
      "a torchscript is made of scripted modules, not of weights; put them into a folder with "
      "their manifest.json and use sightlinectl convert --scripts");
}

}  // namespace

const FamilyModel torchscript::kModel = {&LoadTorchScript, &NoInitialWeights, nullptr};

}  // namespace sightline
