// A model without a network: what it gives is a plain function of what it gets.
#ifndef SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_FAKE_MODEL_H_
#define SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_FAKE_MODEL_H_

#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/models/model.h"

namespace sightline {

// What goes wrong, and who is told.  Callbacks run in the encoding thread.
struct FakeModelBehavior {
  std::string id = std::string(64, 'a');
  bool cross_encoder = true;
  bool image_encoder = true;
  bool extractor = true;
  std::vector<int> feature_sizes = {3};   // of regions
  std::string refused = "untokenizable";  // captions with it have no token
  float refused_feature = -1;             // a picture whose first region begins with it fails
                                          // the batch that it is in
  std::function<void()> before_images;    // each batch of pictures
  float image_bias = 1;                   // NaN or -infinity break the embeddings; 0 makes
  bool zero_images = false;               // ... and this makes them zero
  bool same_images = false;               // ... and this all the same
};

class FakeModel : public Model {
 public:
  static constexpr int kDimension = 4;

  explicit FakeModel(FakeModelBehavior behavior = {})
      : behavior_(std::move(behavior)), texts_(this), images_(this), cross_(this) {}

  absl::StatusOr<Tokens> Tokenize(absl::string_view text) const override {
    if (text.find(behavior_.refused) != absl::string_view::npos) {
      return absl::InvalidArgumentError("no token in it");
    }
    Tokens tokens;
    for (const absl::string_view word : absl::StrSplit(text, ' ')) {
      tokens.ids.push_back(static_cast<int32_t>(word.size()));
    }
    return tokens;
  }
  const TextEncoder* text_encoder() const override { return &texts_; }
  const ImageEncoder* image_encoder() const override {
    return behavior_.image_encoder ? &images_ : nullptr;
  }
  const CrossEncoder* cross_encoder() const override {
    return behavior_.cross_encoder ? &cross_ : nullptr;
  }
  const RegionExtractor* region_extractor() const override {
    return behavior_.extractor ? &extractor_ : nullptr;
  }
  std::vector<int> region_feature_sizes() const override { return behavior_.feature_sizes; }
  const std::string& id() const override { return behavior_.id; }
  const std::string& space() const override { return behavior_.id; }
  int dimension() const override { return kDimension; }

  static bundle::v1::EmbeddingSpec Embedding() {
    bundle::v1::EmbeddingSpec spec;
    spec.set_dimension(kDimension);
    spec.set_metric(bundle::v1::EmbeddingSpec::COSINE);
    spec.set_space(std::string(64, 'a'));
    return spec;
  }

  int64_t encoded_pictures() const { return encoded_pictures_; }

 private:
  // Tokens are the lengths of the words.
  struct Texts : TextEncoder {
    explicit Texts(const FakeModel* model) : model(model) {}
    absl::StatusOr<EmbeddingMatrix> Encode(absl::Span<const Tokens> texts,
                                           const CallContext& call) const override {
      RETURN_IF_ERROR(call.Check("encode"));
      EmbeddingMatrix matrix(static_cast<int64_t>(texts.size()), kDimension);
      for (size_t i = 0; i < texts.size(); ++i) {
        for (size_t t = 0; t < texts[i].ids.size(); ++t) {
          matrix.mutable_row(i)[t % kDimension] += static_cast<float>(texts[i].ids[t]);
        }
      }
      return matrix;
    }
    const FakeModel* model;
  };

  // Two regions: the mean colour and the colour of the first pixel.
  struct Extractor : RegionExtractor {
    absl::StatusOr<std::vector<RegionSet>> Extract(absl::Span<const Pixels> images,
                                                   const CallContext&) const override {
      std::vector<RegionSet> sets;
      for (const Pixels& image : images) {
        RegionSet set;
        set.count = 2;
        set.feature_size = 3;
        set.features.resize(6);
        const auto pixel_count = static_cast<float>(image.rgb.size()) / 3;
        for (size_t i = 0; i < image.rgb.size(); ++i) {
          set.features[i % 3] += static_cast<float>(image.rgb[i]) / pixel_count;
          if (i < 3) set.features[3 + i] = image.rgb[i];
        }
        sets.push_back(set);
      }
      return sets;
    }
  };

  struct Images : ImageEncoder {
    explicit Images(const FakeModel* model) : model(model) {}
    absl::StatusOr<EmbeddingMatrix> Encode(absl::Span<const ImageInput> images,
                                           const CallContext& call) const override {
      if (model->behavior_.before_images) model->behavior_.before_images();
      RETURN_IF_ERROR(call.Check("encode"));
      for (const ImageInput& image : images) {
        if (image.regions.features[0] == model->behavior_.refused_feature) {
          return absl::InvalidArgumentError("an image has too few regions");
        }
      }
      EmbeddingMatrix matrix(static_cast<int64_t>(images.size()), kDimension);
      for (size_t i = 0; i < images.size(); ++i) {
        if (model->behavior_.zero_images) continue;
        for (int c = 0; c < 3; ++c) matrix.mutable_row(i)[c] = images[i].regions.features[c];
        matrix.mutable_row(i)[3] = model->behavior_.image_bias;
        if (!model->behavior_.same_images) continue;
        for (float& number : matrix.mutable_row(i)) number = 1;
      }
      model->encoded_pictures_ += static_cast<int64_t>(images.size());
      return matrix;
    }
    const FakeModel* model;
  };

  struct Cross : CrossEncoder {
    explicit Cross(const FakeModel* model) : model(model) {}
    ItemFeatures PrepareText(const Tokens& tokens) const override {
      return ItemFeatures{{Tensor(
          "ids", Dtype::kInt32, tokens.ids.size(), 1,
          std::string(reinterpret_cast<const char*>(tokens.ids.data()), tokens.ids.size() * 4))}};
    }
    absl::StatusOr<std::vector<ItemFeatures>> PrepareImages(absl::Span<const ImageInput> images,
                                                            const CallContext&) const override {
      std::vector<ItemFeatures> all;
      for (const ImageInput& image : images) {
        const std::vector<float>& f = image.regions.features;
        all.push_back({{Tensor("rows", Dtype::kFloat32, 2, 3,
                               std::string(reinterpret_cast<const char*>(f.data()), 24))}});
      }
      return all;
    }
    absl::StatusOr<std::vector<float>> Score(absl::Span<const ScoringPair> pairs,
                                             const CallContext&) const override {
      return std::vector<float>(pairs.size());
    }
    int64_t Cost(const ScoringPair&) const override { return 1; }
    ScoreKind score_kind() const override { return ScoreKind::kSigmoid; }

    static FeatureTensor Tensor(const char* name, Dtype dtype, int64_t rows, int64_t columns,
                                std::string bytes) {
      FeatureTensor tensor;
      tensor.name = name;
      tensor.dtype = dtype;
      tensor.rows = rows;
      tensor.columns = columns;
      tensor.bytes = std::move(bytes);
      return tensor;
    }
    const FakeModel* model;
  };

  const FakeModelBehavior behavior_;
  const Texts texts_;
  const Extractor extractor_;
  const Images images_;
  const Cross cross_;
  mutable std::atomic<int64_t> encoded_pictures_{0};
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_FAKE_MODEL_H_
