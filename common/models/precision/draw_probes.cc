#include "common/models/precision/draw_probes.h"

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/model_probes.h"

namespace sightline {
namespace {

using bundle::v1::ModelProbes;

constexpr int kTexts = 24;
constexpr int kItems = 24;
constexpr int kRegions = 36;
constexpr int kPictureSide = 96;
constexpr int kSquares = 6;  // a side
constexpr uint64_t kSeed = 18;

constexpr const char* kColours[] = {"red",  "green", "blue",   "yellow", "black",
                                    "grey", "white", "orange", "brown",  "pink"};
constexpr const char* kThings[] = {"fish",  "dog",   "car",    "tree",  "house", "boat",
                                   "bird",  "apple", "chair",  "table", "woman", "man",
                                   "child", "horse", "guitar", "clock", "train", "flower"};
constexpr const char* kPlaces[] = {"beside", "behind", "above", "under", "near"};

// The standard's distributions differ from library to library; these do not.
class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}
  double Uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  // Of a mean 0 and a variance 1 (the sum of twelve uniforms).
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }
  int Below(int count) { return static_cast<int>(Uniform() * count); }
  template <size_t n>
  const char* Of(const char* const (&words)[n]) {
    return words[Below(n)];
  }

 private:
  std::mt19937_64 engine_;
};

std::string DrawText(Draw& draw) {
  std::string text = absl::StrCat("a ", draw.Of(kColours), " ", draw.Of(kThings));
  if (draw.Uniform() < 0.7) {
    absl::StrAppend(&text, " ", draw.Of(kPlaces), " a ", draw.Of(kColours), " ", draw.Of(kThings));
  }
  return text;
}

Pixels DrawPicture(Draw& draw) {
  Pixels picture;
  picture.width = picture.height = kPictureSide;
  picture.rgb.resize(static_cast<size_t>(kPictureSide) * kPictureSide * 3);
  uint8_t colours[kSquares][kSquares][3];
  for (auto& row : colours) {
    for (auto& square : row) {
      for (uint8_t& channel : square) channel = static_cast<uint8_t>(draw.Below(256));
    }
  }
  constexpr int kSquareSide = kPictureSide / kSquares;
  for (int y = 0; y < kPictureSide; ++y) {
    for (int x = 0; x < kPictureSide; ++x) {
      for (int c = 0; c < 3; ++c) {
        picture.rgb[(static_cast<size_t>(y) * kPictureSide + x) * 3 + c] =
            colours[y / kSquareSide][x / kSquareSide][c];
      }
    }
  }
  return picture;
}

// Features as detectors give them: not negative, most of them small; regions of one picture have
// something in common.
RegionSet DrawRegions(int feature_size, Draw& draw) {
  RegionSet regions;
  regions.count = kRegions;
  regions.feature_size = feature_size;
  std::vector<double> common(feature_size);
  for (double& number : common) number = draw.Normal();
  for (int i = 0; i < kRegions; ++i) {
    for (int j = 0; j < feature_size; ++j) {
      regions.features.push_back(static_cast<float>(std::max(0.0, common[j] + draw.Normal())));
    }
    const double x = draw.Uniform() * 0.7, y = draw.Uniform() * 0.7;
    for (const double edge :
         {x, y, x + 0.1 + draw.Uniform() * 0.2, y + 0.1 + draw.Uniform() * 0.2}) {
      regions.boxes.push_back(static_cast<float>(edge));
    }
  }
  return regions;
}

absl::StatusOr<std::vector<ImageInput>> DrawImages(const Model& model, Draw& draw,
                                                   const CallContext& call) {
  std::vector<ImageInput> images(kItems);
  if (model.region_extractor() != nullptr) {
    std::vector<Pixels> pictures;
    for (int i = 0; i < kItems; ++i) pictures.push_back(DrawPicture(draw));
    ASSIGN_OR_RETURN(std::vector<RegionSet> regions,
                     model.region_extractor()->Extract(pictures, call));
    for (int i = 0; i < kItems; ++i) images[i].regions = std::move(regions[i]);
    return images;
  }
  const std::vector<int> sizes = model.region_feature_sizes();
  if (sizes.empty()) {
    return absl::FailedPreconditionError(
        "a model that takes neither pictures nor regions needs "
        "probes in its bundle");
  }
  for (ImageInput& image : images) image.regions = DrawRegions(sizes.front(), draw);
  return images;
}

absl::StatusOr<EmbeddingMatrix> EncodeTextItems(const Model& model, Draw& draw,
                                                const CallContext& call) {
  std::vector<Tokens> texts;
  for (int i = 0; i < kItems; ++i) {
    ASSIGN_OR_RETURN(Tokens tokens, model.Tokenize(DrawText(draw)));
    texts.push_back(std::move(tokens));
  }
  return model.text_encoder()->Encode(texts, call);
}

void SetEmbeddings(const EmbeddingMatrix& embeddings, ModelProbes* probes) {
  for (int i = 0; i < kItems; ++i) {
    const auto row = embeddings.row(i);
    probes->mutable_items(i)->mutable_embedding()->Add(row.begin(), row.end());
  }
}

}  // namespace

absl::StatusOr<ModelProbes> DrawProbes(const Model& model, const CallContext& call) {
  Draw draw(kSeed);
  ModelProbes probes;
  probes.set_format_version(1);
  for (int i = 0; i < kTexts; ++i) probes.add_texts()->set_text(DrawText(draw));
  for (int i = 0; i < kItems; ++i) probes.add_items();
  const bool reads_images = model.cross_encoder() != nullptr || model.image_encoder() != nullptr;
  std::vector<ImageInput> images;
  if (reads_images) {
    ASSIGN_OR_RETURN(images, DrawImages(model, draw, call));
  }
  if (model.cross_encoder() != nullptr) {
    ASSIGN_OR_RETURN(const std::vector<ItemFeatures> features,
                     model.cross_encoder()->PrepareImages(images, call));
    for (int i = 0; i < kItems; ++i) SetFeatures(features[i], probes.mutable_items(i));
  }
  if (model.text_encoder() == nullptr) return probes;
  if (model.image_encoder() != nullptr) {
    ASSIGN_OR_RETURN(const EmbeddingMatrix embeddings, model.image_encoder()->Encode(images, call));
    SetEmbeddings(embeddings, &probes);
  } else {
    ASSIGN_OR_RETURN(const EmbeddingMatrix embeddings, EncodeTextItems(model, draw, call));
    SetEmbeddings(embeddings, &probes);
  }
  return probes;
}

}  // namespace sightline
