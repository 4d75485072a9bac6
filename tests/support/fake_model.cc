#include "tests/support/fake_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

uint32_t Mix(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

ItemFeatures FeaturesOf(const char* name, const WordIds& ids) {
  FeatureTensor tensor;
  tensor.name = name;
  tensor.dtype = Dtype::kInt32;
  tensor.rows = static_cast<int64_t>(ids.size());
  tensor.columns = 1;
  tensor.bytes.assign(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t));
  return ItemFeatures{{tensor}};
}

FeatureTensor FractionsOf(const WordIds& ids) {
  const std::vector<float> numbers(ids.begin(), ids.end());
  FeatureTensor tensor{"fractions", Dtype::kFloat32, 1, static_cast<int64_t>(ids.size()), ""};
  tensor.bytes.assign(reinterpret_cast<const char*>(numbers.data()),
                      numbers.size() * sizeof(float));
  return tensor;
}

absl::StatusOr<WordIds> IdsIn(const ItemFeatures* features, const char* name) {
  const FeatureTensor* tensor = features->Find(name);
  if (tensor == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("features without tensor '", name, "'"));
  }
  WordIds ids(tensor->rows);
  std::memcpy(ids.data(), tensor->bytes.data(), tensor->bytes.size());
  return ids;
}

absl::Status CheckWords(const WordIds& ids) {
  if (std::count(ids.begin(), ids.end(), IdsOf(kPoison)[0]) > 0) {
    return absl::InvalidArgumentError("the batch holds poison");
  }
  if (std::count(ids.begin(), ids.end(), IdsOf(kBreakdown)[0]) > 0) {
    return absl::InternalError("the model has broken down");
  }
  if (std::count(ids.begin(), ids.end(), IdsOf(kDeviceFailure)[0]) > 0) {
    return MakeError(reasons::kDeviceFailed, "fell off the bus");
  }
  return absl::OkStatus();
}

absl::StatusOr<WordIds> IdsIn(const ImageInput& image) {
  if (!image.has_regions()) return absl::InvalidArgumentError("an image without regions");
  if (image.regions.feature_size != 3) return absl::InvalidArgumentError("another feature size");
  WordIds ids;
  for (int64_t i = 0; i < image.regions.count; ++i) {
    const float* f = &image.regions.features[i * 3];
    ids.push_back(static_cast<int32_t>(f[0]) << 16 | static_cast<int32_t>(f[1]) << 8 |
                  static_cast<int32_t>(f[2]));
  }
  return ids;
}

template <typename Inputs, typename ToIds>
absl::StatusOr<EmbeddingMatrix> EncodeWords(const Inputs& inputs, const ToIds& to_ids) {
  EmbeddingMatrix matrix(static_cast<int64_t>(inputs.size()), FakeServingModel::kDimension);
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSIGN_OR_RETURN(const WordIds ids, to_ids(inputs[i]));
    RETURN_IF_ERROR(CheckWords(ids));
    const std::vector<float> row = EmbeddingOf(ids);
    std::copy(row.begin(), row.end(), matrix.mutable_row(i).begin());
  }
  return matrix;
}

}  // namespace

WordIds IdsOf(absl::string_view text) {
  WordIds ids;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    uint32_t hash = 2166136261u;
    for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    ids.push_back(static_cast<int32_t>(Mix(hash) & 0xffffff));
  }
  return ids;
}

std::vector<float> EmbeddingOf(const WordIds& ids) {
  EmbeddingMatrix row(1, FakeServingModel::kDimension);
  for (const int32_t id : ids) {
    for (int k = 0; k < FakeServingModel::kDimension; ++k) {
      const uint32_t bits = Mix(static_cast<uint32_t>(id) * 31 + k + 1);
      row.mutable_data()[k] += static_cast<float>(bits % 2001) / 1000 - 1;
    }
  }
  NormalizeRows(row);
  return {row.values().begin(), row.values().end()};
}

float PairScoreOf(const WordIds& text, const WordIds& image) {
  uint32_t hash = 17;
  for (const int32_t id : text) hash = Mix(hash + static_cast<uint32_t>(id));
  for (const int32_t id : image) hash = Mix(hash * 3 + static_cast<uint32_t>(id));
  return static_cast<float>(hash % 4096) / 4096;
}

ImageInput ImageOf(const WordIds& ids) {
  ImageInput image;
  image.regions.count = static_cast<int64_t>(ids.size());
  image.regions.feature_size = 3;
  for (const int32_t id : ids) {
    for (const int shift : {16, 8, 0}) {
      image.regions.features.push_back(static_cast<float>(id >> shift & 0xff));
    }
  }
  return image;
}

ItemFeatures TextFeaturesOf(const WordIds& ids) {
  return FeaturesOf("ids", ids);
}
ItemFeatures ImageFeaturesOf(const WordIds& ids) {
  return FeaturesOf("regions", ids);
}

Pixels PictureOf(int32_t id, int width, int height) {
  Pixels pixels;
  pixels.width = width;
  pixels.height = height;
  for (int i = 0; i < width * height; ++i) {
    for (const int shift : {16, 8, 0}) {
      pixels.rgb.push_back(static_cast<uint8_t>(id >> shift & 0xff));
    }
  }
  return pixels;
}

struct FakeServingModel::Texts : TextEncoder {
  explicit Texts(const FakeServingModel* m) : model(m) {}

  absl::StatusOr<EmbeddingMatrix> Encode(absl::Span<const Tokens> texts,
                                         const CallContext& call) const override {
    model->Enter(kTexts, texts.size());
    RETURN_IF_ERROR(call.Check("encode"));
    return EncodeWords(texts, [](const Tokens& t) -> absl::StatusOr<WordIds> { return t.ids; });
  }

  const FakeServingModel* const model;
};

struct FakeServingModel::Images : ImageEncoder {
  explicit Images(const FakeServingModel* m) : model(m) {}

  absl::StatusOr<EmbeddingMatrix> Encode(absl::Span<const ImageInput> images,
                                         const CallContext& call) const override {
    model->Enter(kImages, images.size());
    RETURN_IF_ERROR(call.Check("encode"));
    return EncodeWords(images, [](const ImageInput& image) { return IdsIn(image); });
  }

  const FakeServingModel* const model;
};

struct FakeServingModel::Extractor : RegionExtractor {
  explicit Extractor(const FakeServingModel* m) : model(m) {}

  absl::StatusOr<std::vector<RegionSet>> Extract(absl::Span<const Pixels> pictures,
                                                 const CallContext& call) const override {
    RETURN_IF_ERROR(call.Check("extract"));
    std::vector<RegionSet> sets;
    for (const Pixels& picture : pictures) {
      if (picture.rgb.empty()) return absl::InvalidArgumentError("an image without pixels");
      {
        MutexLock lock(model->mutex_);
        model->widths_.push_back(picture.width);
      }
      const int32_t id = picture.rgb[0] << 16 | picture.rgb[1] << 8 | picture.rgb[2];
      sets.push_back(ImageOf({id ^ model->options_.tint}).regions);
    }
    return sets;
  }

  absl::StatusOr<std::vector<LabelledRegions>> ExtractLabelled(
      absl::Span<const Pixels> pictures, const CallContext& call) const override {
    ASSIGN_OR_RETURN(std::vector<LabelledRegions> found,
                     RegionExtractor::ExtractLabelled(pictures, call));
    const int classes = model->options_.classes;
    if (classes == 0) return found;
    for (LabelledRegions& of : found) {
      of.soft_labels.resize(classes);
      ASSIGN_OR_RETURN(const WordIds ids, IdsIn(ImageInput{{}, of.regions, {}, {}}));
      of.soft_labels[ids[0] % classes] = 1;
    }
    return found;
  }

  Pixels Reduce(Pixels image) const override {
    image.width = model->options_.reduced_width;
    image.height = 1;
    image.rgb.resize(3 * image.width);
    return image;
  }

  const FakeServingModel* const model;
};

struct FakeServingModel::Pairs : CrossEncoder {
  explicit Pairs(const FakeServingModel* m) : model(m) {}

  ItemFeatures PrepareText(const Tokens& text) const override { return TextFeaturesOf(text.ids); }

  absl::StatusOr<std::vector<ItemFeatures>> PrepareImages(absl::Span<const ImageInput> images,
                                                          const CallContext&) const override {
    std::vector<ItemFeatures> all;
    for (const ImageInput& image : images) {
      ASSIGN_OR_RETURN(const WordIds ids, IdsIn(image));
      all.push_back(ImageFeaturesOf(ids));
      if (model->options_.fractions) all.back().tensors.push_back(FractionsOf(ids));
    }
    return all;
  }

  absl::StatusOr<std::vector<float>> Score(absl::Span<const ScoringPair> pairs,
                                           const CallContext& call) const override {
    model->Enter(kPairs, pairs.size());
    RETURN_IF_ERROR(call.Check("score"));
    std::vector<float> scores;
    for (const ScoringPair& pair : pairs) {
      ASSIGN_OR_RETURN(const WordIds text, IdsIn(pair.text, "ids"));
      ASSIGN_OR_RETURN(const WordIds image, IdsIn(pair.image, "regions"));
      RETURN_IF_ERROR(CheckWords(text));
      RETURN_IF_ERROR(CheckWords(image));
      const float score = PairScoreOf(text, image);
      scores.push_back(model->options_.contrary ? 1 - score : score);
    }
    return scores;
  }

  int64_t Cost(const ScoringPair& pair) const override {
    int64_t cost = 0;
    for (const ItemFeatures* side : {pair.text, pair.image}) {
      for (const FeatureTensor& tensor : side->tensors) cost += tensor.rows;
    }
    return std::max<int64_t>(cost, 1);
  }

  ScoreKind score_kind() const override { return ScoreKind::kSigmoid; }

  const FakeServingModel* const model;
};

FakeServingModel::FakeServingModel(FakeServingModelOptions options) : options_(std::move(options)) {
  if (options_.texts) texts_ = std::make_unique<Texts>(this);
  if (options_.images) images_ = std::make_unique<Images>(this);
  if (options_.pictures) extractor_ = std::make_unique<Extractor>(this);
  if (options_.pairs) pairs_ = std::make_unique<Pairs>(this);
}

FakeServingModel::~FakeServingModel() = default;

absl::StatusOr<Tokens> FakeServingModel::Tokenize(absl::string_view text) const {
  Tokens tokens;
  tokens.ids = IdsOf(text);
  if (tokens.ids.empty()) return absl::InvalidArgumentError("the text is empty");
  if (!options_.refused.empty() && text.find(options_.refused) != absl::string_view::npos) {
    return absl::InvalidArgumentError("no text of this model");
  }
  ++tokenized_;
  return tokens;
}
const TextEncoder* FakeServingModel::text_encoder() const {
  return texts_.get();
}
const ImageEncoder* FakeServingModel::image_encoder() const {
  return images_.get();
}
const CrossEncoder* FakeServingModel::cross_encoder() const {
  return pairs_.get();
}
const RegionExtractor* FakeServingModel::region_extractor() const {
  return extractor_.get();
}

void FakeServingModel::HoldNextBatch(Gate* entered, Gate* release) {
  MutexLock lock(mutex_);
  entered_ = entered;
  release_ = release;
}

void FakeServingModel::Enter(Kind kind, size_t size) const {
  Gate* entered = nullptr;
  Gate* release = nullptr;
  {
    MutexLock lock(mutex_);
    batches_[kind].push_back(static_cast<int>(size));
    std::swap(entered, entered_);
    std::swap(release, release_);
  }
  if (entered != nullptr) entered->Open();
  if (release != nullptr) release->Wait();
}

std::vector<int> FakeServingModel::Batches(Kind kind) const {
  MutexLock lock(mutex_);
  return batches_[kind];
}

std::vector<int> FakeServingModel::text_batches() const {
  return Batches(kTexts);
}
std::vector<int> FakeServingModel::image_batches() const {
  return Batches(kImages);
}
std::vector<int> FakeServingModel::pair_batches() const {
  return Batches(kPairs);
}
std::vector<int> FakeServingModel::extracted_widths() const {
  MutexLock lock(mutex_);
  return widths_;
}

}  // namespace sightline
