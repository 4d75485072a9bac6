#include "common/models/oscar.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/safetensors.h"
#include "common/models/feature_tensors.h"
#include "common/models/inference.h"
#include "common/models/manifest_checks.h"
#include "common/models/oscar_manifest.h"
#include "common/models/oscar_net.h"
#include "common/models/padding.h"
#include "common/models/region_input.h"
#include "common/models/text_input.h"
#include "common/models/transformer.h"
#include "common/models/weights.h"

namespace sightline {
namespace {

// Name of an image's only feature tensor: projected region rows, rows x H.
constexpr absl::string_view kRegionsTensor = "regions";

// The texts of a group; `ids_at(i)` points to the ids of item i.
template <typename IdsAt>
PaddedTexts PadGroup(const Group& group, const IdsAt& ids_at) {
  std::vector<absl::Span<const int32_t>> texts;
  texts.reserve(group.size());
  for (const int64_t i : group) texts.push_back(*ids_at(i));
  return PadTexts(texts);
}

absl::Status AtItem(absl::string_view kind, size_t index, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(kind, " ", index, " ", status.message()));
}

// The network and what is needed to feed it; shared by the model's parts.
struct Core {
  ModelOptions options;
  std::unique_ptr<TextInput> text;
  std::shared_ptr<OscarNetImpl> net;
  std::unique_ptr<TransformerExecutor> executor;
  int hidden_size = 0;
  int region_feature_size = 0;
  int max_region_count = 0;

  GroupingOptions grouping() const {
    GroupingOptions grouping;
    grouping.threads = options.pool == nullptr ? 1 : options.pool->threads();
    grouping.one_each = options.deterministic;
    return grouping;
  }

  // rows x H.  One image at a time, always: a matrix product of another height may
  // differ in its last bit, and that could tip the rounding of a stored feature.
  torch::Tensor ProjectRegions(std::vector<float>& rows) const {
    const int64_t count = rows.size() / region_feature_size;
    return net->RegionRows(torch::from_blob(rows.data(), {count, region_feature_size}));
  }
};

using RegionRowsList = std::vector<std::vector<float>>;

absl::StatusOr<RegionRowsList> ReadRegions(const Core& core, absl::Span<const ImageInput> images) {
  RegionRowsList list;
  list.reserve(images.size());
  for (const ImageInput& image : images) {
    auto rows = OscarRegionRows(image.regions, core.region_feature_size, core.max_region_count);
    if (!rows.ok()) return AtItem("image", list.size(), rows.status());
    list.push_back(*std::move(rows));
  }
  return list;
}

// Row j of `pooled` becomes row group[j] of `matrix`.
absl::Status StoreRows(const torch::Tensor& pooled, const Group& group, absl::string_view kind,
                       EmbeddingMatrix* matrix) {
  const torch::Tensor rows = pooled.contiguous();
  const float* data = rows.data_ptr<float>();
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

class OscarTextEncoder : public TextEncoder {
 public:
  OscarTextEncoder(const Core* core, bool cosine) : core_(*core), cosine_(cosine) {}

  absl::StatusOr<Tokens> Tokenize(absl::string_view text) const override {
    return core_.text->Tokenize(text);
  }

  absl::StatusOr<EmbeddingMatrix> Encode(absl::Span<const Tokens> texts,
                                         const CallContext& call) const override {
    std::vector<ItemShape> shapes;
    for (const Tokens& text : texts) {
      const absl::Status status = core_.text->Check(text.ids);
      if (!status.ok()) return AtItem("text", shapes.size(), status);
      shapes.push_back({static_cast<int64_t>(text.ids.size()), 0});
    }
    EmbeddingMatrix matrix(texts.size(), core_.hidden_size);
    RETURN_IF_ERROR(
        RunGroups(core_.options.pool, GroupByShape(shapes, core_.grouping()), call, "encode texts",
                  [&](const Group& group) { return EncodeGroup(group, texts, &matrix); }));
    if (cosine_) NormalizeRows(matrix);
    return matrix;
  }

 private:
  absl::Status EncodeGroup(const Group& group, absl::Span<const Tokens> texts,
                           EmbeddingMatrix* matrix) const {
    const PaddedTexts padded = PadGroup(group, [&](int64_t i) { return &texts[i].ids; });
    const torch::Tensor rows = core_.executor->Run(core_.net->TextRows(padded.ids), padded.mask);
    return StoreRows(MaskedMean(rows, padded.mask), group, "text", matrix);
  }

  const Core& core_;
  const bool cosine_;
};

class OscarImageEncoder : public ImageEncoder {
 public:
  OscarImageEncoder(const Core* core, bool cosine) : core_(*core), cosine_(cosine) {}

  absl::StatusOr<EmbeddingMatrix> Encode(absl::Span<const ImageInput> images,
                                         const CallContext& call) const override {
    ASSIGN_OR_RETURN(RegionRowsList regions, ReadRegions(core_, images));
    std::vector<ItemShape> shapes;
    for (const std::vector<float>& rows : regions) {
      shapes.push_back({1, static_cast<int64_t>(rows.size()) / core_.region_feature_size});
    }
    EmbeddingMatrix matrix(images.size(), core_.hidden_size);
    RETURN_IF_ERROR(
        RunGroups(core_.options.pool, GroupByShape(shapes, core_.grouping()), call, "encode images",
                  [&](const Group& group) { return EncodeGroup(group, &regions, &matrix); }));
    if (cosine_) NormalizeRows(matrix);
    return matrix;
  }

 private:
  absl::Status EncodeGroup(const Group& group, RegionRowsList* regions,
                           EmbeddingMatrix* matrix) const {
    std::vector<torch::Tensor> items;
    for (const int64_t i : group) items.push_back(core_.ProjectRegions((*regions)[i]));
    const PaddedRegions padded = PadRegions(items);
    const torch::Tensor mask =
        ConcatMasks(/*first=*/{}, /*first_width=*/1, padded.mask, padded.width);
    const torch::Tensor rows =
        core_.executor->Run(core_.net->ImageRows(core_.text->cls_id(), padded.rows), mask);
    return StoreRows(MaskedMean(rows, mask), group, "image", matrix);
  }

  const Core& core_;
  const bool cosine_;
};

// A pair whose features have been checked.
struct CheckedPair {
  Tokens text;
  const FeatureTensor* regions = nullptr;
};

class OscarCrossEncoder : public CrossEncoder {
 public:
  OscarCrossEncoder(const Core* core, ScoreKind kind) : core_(*core), kind_(kind) {}

  absl::StatusOr<ItemFeatures> PrepareText(absl::string_view text) const override {
    ASSIGN_OR_RETURN(const Tokens tokens, core_.text->Tokenize(text));
    return TextInput::ToFeatures(tokens);
  }

  absl::StatusOr<std::vector<ItemFeatures>> PrepareImages(absl::Span<const ImageInput> images,
                                                          const CallContext& call) const override {
    ASSIGN_OR_RETURN(RegionRowsList regions, ReadRegions(core_, images));
    std::vector<Group> groups(images.size());
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = {static_cast<int64_t>(i)};
    std::vector<ItemFeatures> features(images.size());
    RETURN_IF_ERROR(
        RunGroups(core_.options.pool, groups, call, "prepare images", [&](const Group& group) {
          const int64_t i = group[0];
          features[i].tensors.push_back(Stored(core_.ProjectRegions(regions[i])));
          if (AllFinite(features[i].tensors[0])) return absl::OkStatus();
          return absl::InvalidArgumentError(absl::StrCat(
              "image ", i, " has region features too large for ",
              DtypeName(core_.options.item_feature_dtype), " once they are projected"));
        }));
    return features;
  }

  absl::StatusOr<std::vector<float>> Score(absl::Span<const ScoringPair> pairs,
                                           const CallContext& call) const override {
    ASSIGN_OR_RETURN(const std::vector<MatchLogits> logits, Logits(pairs, call));
    std::vector<float> scores;
    scores.reserve(logits.size());
    for (const MatchLogits& pair : logits) {
      // Softmax over two logits, its second value.
      const double odds = std::exp(static_cast<double>(pair.no_match) - pair.match);
      scores.push_back(kind_ == ScoreKind::kLogitMatch ? pair.match
                                                       : static_cast<float>(1 / (1 + odds)));
    }
    return scores;
  }

  int64_t Cost(const ScoringPair& pair) const override {
    return RowsOf(pair.text, kIdsTensor) + RowsOf(pair.image, kRegionsTensor);
  }

  ScoreKind score_kind() const override { return kind_; }

  absl::StatusOr<std::vector<MatchLogits>> Logits(absl::Span<const ScoringPair> pairs,
                                                  const CallContext& call) const {
    std::vector<CheckedPair> checked;
    std::vector<ItemShape> shapes;
    for (const ScoringPair& pair : pairs) {
      auto result = Check(pair);
      if (!result.ok()) return AtItem("pair", checked.size(), result.status());
      checked.push_back(*std::move(result));
      shapes.push_back(
          {static_cast<int64_t>(checked.back().text.ids.size()), checked.back().regions->rows});
    }
    std::vector<MatchLogits> logits(pairs.size());
    RETURN_IF_ERROR(
        RunGroups(core_.options.pool, GroupByShape(shapes, core_.grouping()), call, "score pairs",
                  [&](const Group& group) { return ScoreGroup(group, checked, &logits); }));
    return logits;
  }

 private:
  static int64_t RowsOf(const ItemFeatures* features, absl::string_view name) {
    const FeatureTensor* tensor = features == nullptr ? nullptr : features->Find(name);
    return tensor == nullptr ? 0 : std::max<int64_t>(tensor->rows, 0);
  }

  absl::StatusOr<CheckedPair> Check(const ScoringPair& pair) const {
    if (pair.text == nullptr || pair.image == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("has no ", pair.text == nullptr ? "text" : "image"));
    }
    CheckedPair checked;
    auto tokens = core_.text->FromFeatures(*pair.text);
    if (!tokens.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("text: ", tokens.status().message()));
    }
    checked.text = *std::move(tokens);
    auto regions = RequireTensor(*pair.image, kRegionsTensor, {Dtype::kFloat16, Dtype::kFloat32},
                                 core_.max_region_count, core_.hidden_size);
    if (!regions.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("image: ", regions.status().message()));
    }
    checked.regions = *regions;
    if (!AllFinite(*checked.regions)) {
      return absl::InvalidArgumentError("image: a region row has a number that is not finite");
    }
    return checked;
  }

  FeatureTensor Stored(const torch::Tensor& rows) const {
    const bool half = core_.options.item_feature_dtype == Dtype::kFloat16;
    const torch::Tensor values = rows.to(half ? torch::kFloat16 : torch::kFloat32).contiguous();
    FeatureTensor tensor;
    tensor.name = std::string(kRegionsTensor);
    tensor.dtype = core_.options.item_feature_dtype;
    tensor.rows = values.size(0);
    tensor.columns = values.size(1);
    tensor.bytes.assign(static_cast<const char*>(values.data_ptr()), values.nbytes());
    return tensor;
  }

  static torch::Tensor View(const FeatureTensor& tensor) {
    // from_blob wants a mutable pointer; PadRegions only reads.
    return torch::from_blob(const_cast<char*>(tensor.bytes.data()), {tensor.rows, tensor.columns},
                            tensor.dtype == Dtype::kFloat16 ? torch::kFloat16 : torch::kFloat32);
  }

  absl::Status ScoreGroup(const Group& group, const std::vector<CheckedPair>& pairs,
                          std::vector<MatchLogits>* logits) const {
    const PaddedTexts texts = PadGroup(group, [&](int64_t i) { return &pairs[i].text.ids; });
    std::vector<torch::Tensor> items;
    for (const int64_t i : group) items.push_back(View(*pairs[i].regions));
    const PaddedRegions regions = PadRegions(items);
    const torch::Tensor mask = ConcatMasks(texts.mask, texts.width, regions.mask, regions.width);
    const torch::Tensor rows = torch::cat({core_.net->TextRows(texts.ids), regions.rows}, 1);
    const torch::Tensor both = core_.net->MatchLogits(core_.executor->Run(rows, mask)).contiguous();
    const float* data = both.data_ptr<float>();
    for (const int64_t i : group) {
      (*logits)[i] = {data[0], data[1]};
      data += 2;
      if (!std::isfinite((*logits)[i].no_match) || !std::isfinite((*logits)[i].match)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "pair ", i, " has a score that is not finite; its features are too large"));
      }
    }
    return absl::OkStatus();
  }

  const Core& core_;
  const ScoreKind kind_;
};

// Tensors that OSCAR checkpoints may hold and this model has no use for.
std::vector<std::string> IgnoredWeights(const bundle::v1::ModelBundleManifest& manifest) {
  std::vector<std::string> ignored = {"cls.", "bert.embeddings.position_ids"};
  if (!manifest.has_cross_encoder()) {
    ignored.insert(ignored.end(), {"bert.pooler.", "classifier."});
  }
  return ignored;
}

absl::StatusOr<std::shared_ptr<OscarNetImpl>> LoadNet(const ModelBundle& bundle) {
  ASSIGN_OR_RETURN(const std::string path, ListedFile(bundle, kWeightsFile));
  ASSIGN_OR_RETURN(const int64_t bytes, FileSize(path));
  const int64_t least = LeastWeightCount(bundle.manifest);
  if (bytes < least) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " has ", bytes, " bytes, but the manifest describes at least ", least, " weights"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Safetensors> file, Safetensors::Open(path));
  std::shared_ptr<OscarNetImpl> net;
  RETURN_IF_ERROR(RunGuarded("build the network", [&] {
    net = std::make_shared<OscarNetImpl>(bundle.manifest);
    net->eval();
    return absl::OkStatus();
  }));
  const absl::Status status = LoadWeights(*file, IgnoredWeights(bundle.manifest), net.get());
  if (status.ok()) return net;
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::StatusOr<std::string> InitialWeights(const bundle::v1::ModelBundleManifest& manifest,
                                           uint64_t seed, WeightDtype dtype) {
  std::shared_ptr<OscarNetImpl> net;
  RETURN_IF_ERROR(RunGuarded("build the network", [&] {
    net = std::make_shared<OscarNetImpl>(manifest);
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(RandomizeWeights(seed, net.get()));
  return SerializeWeights(*net, dtype);
}

}  // namespace

struct OscarModel::Parts {
  std::string id;
  std::string space;
  Core core;
  std::unique_ptr<OscarTextEncoder> text_encoder;
  std::unique_ptr<OscarImageEncoder> image_encoder;
  std::unique_ptr<OscarCrossEncoder> cross_encoder;
  std::unique_ptr<RegionExtractor> region_extractor;
};

OscarModel::OscarModel(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
OscarModel::~OscarModel() = default;

absl::StatusOr<std::unique_ptr<OscarModel>> OscarModel::Load(const ModelBundle& bundle,
                                                             const ModelOptions& options) {
  const bundle::v1::ModelBundleManifest& manifest = bundle.manifest;
  RETURN_IF_ERROR(CheckOscarManifest(manifest));
  if (options.item_feature_dtype != Dtype::kFloat16 &&
      options.item_feature_dtype != Dtype::kFloat32) {
    return absl::InvalidArgumentError(
        absl::StrCat("item features cannot be stored as ", DtypeName(options.item_feature_dtype)));
  }
  auto parts = std::make_unique<Parts>();
  parts->id = bundle.id;
  parts->space = manifest.embedding().space();
  Core& core = parts->core;
  core.options = options;
  core.hidden_size = manifest.transformer().hidden_size();
  core.region_feature_size = manifest.transformer().region_feature_size();
  core.max_region_count = manifest.transformer().max_region_count();
  ASSIGN_OR_RETURN(core.text, TextInput::Create(bundle));
  ASSIGN_OR_RETURN(core.net, LoadNet(bundle));
  core.executor = NewReferenceExecutor(core.net->encoder());
  if (manifest.has_embedding()) {
    const bool cosine = manifest.embedding().metric() == bundle::v1::EmbeddingSpec::COSINE;
    parts->text_encoder = std::make_unique<OscarTextEncoder>(&core, cosine);
    parts->image_encoder = std::make_unique<OscarImageEncoder>(&core, cosine);
  }
  if (manifest.has_cross_encoder()) {
    ASSIGN_OR_RETURN(const ScoreKind kind, ParseScoreKind(manifest.cross_encoder().score_kind()));
    parts->cross_encoder = std::make_unique<OscarCrossEncoder>(&core, kind);
  }
  if (manifest.has_grid_extractor()) {
    parts->region_extractor =
        NewGridExtractor(core.net->grid(), manifest.grid_extractor(), options.pool);
  }
  return absl::WrapUnique(new OscarModel(std::move(parts)));
}

absl::StatusOr<std::vector<MatchLogits>> OscarModel::Logits(absl::Span<const ScoringPair> pairs,
                                                            const CallContext& call) const {
  if (parts_->cross_encoder == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("model ", parts_->id, " has no cross-encoder"));
  }
  return parts_->cross_encoder->Logits(pairs, call);
}

const TextEncoder* OscarModel::text_encoder() const {
  return parts_->text_encoder.get();
}
const ImageEncoder* OscarModel::image_encoder() const {
  return parts_->image_encoder.get();
}
const CrossEncoder* OscarModel::cross_encoder() const {
  return parts_->cross_encoder.get();
}
const RegionExtractor* OscarModel::region_extractor() const {
  return parts_->region_extractor.get();
}
std::vector<int> OscarModel::region_feature_sizes() const {
  const int with_box = parts_->core.region_feature_size;
  return {with_box - kOscarBoxNumbers, with_box};
}
const std::string& OscarModel::id() const {
  return parts_->id;
}
const std::string& OscarModel::space() const {
  return parts_->space;
}
int OscarModel::dimension() const {
  return parts_->core.hidden_size;
}

Family OscarFamily() {
  Family family;
  family.name = "oscar";
  family.check = &CheckOscarManifest;
  family.load = [](const ModelBundle& bundle,
                   const ModelOptions& options) -> absl::StatusOr<std::shared_ptr<const Model>> {
    return OscarModel::Load(bundle, options);
  };
  family.initial_weights = &InitialWeights;
  return family;
}

}  // namespace sightline
