#include "tests/common/models/tiny_model.h"

#include <random>
#include <stdexcept>

#include "common/models/init_model.h"
#include "common/models/oscar/small_manifest.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

template <typename T>
T OrThrow(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

constexpr int kSpecialTokens = 5;

}  // namespace

bundle::v1::ModelBundleManifest TinyManifest() {
  bundle::v1::ModelBundleManifest manifest = SmallOscarManifest();
  manifest.mutable_tokenizer()->set_max_token_count(12);
  manifest.mutable_embedding()->set_dimension(16);
  bundle::v1::TransformerSpec* transformer = manifest.mutable_transformer();
  transformer->set_layer_count(2);
  transformer->set_hidden_size(16);
  transformer->set_head_count(2);
  transformer->set_intermediate_size(24);
  transformer->set_position_count(12);
  transformer->set_region_feature_size(16);
  transformer->set_max_region_count(9);
  bundle::v1::GridExtractorSpec* grid = manifest.mutable_grid_extractor();
  grid->set_image_size(24);
  grid->clear_stages();
  for (const int channels : {8, 6, 10}) {
    grid->add_stages()->set_channel_count(channels);
    grid->mutable_stages(grid->stages_size() - 1)->set_residual_block_count(channels == 6 ? 1 : 0);
  }
  return manifest;
}

std::string TinyVocabulary() {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nred\nblue\nfish\nbird\n##s\n";
  for (char letter = 'b'; letter <= 'z'; ++letter) text += std::string(1, letter) + "\n";
  return text;
}

ModelBundle MakeBundle(const std::string& store, const bundle::v1::ModelBundleManifest& manifest,
                       uint64_t seed) {
  InitOptions options;
  options.seed = seed;
  options.dtype = WeightDtype::kFloat32;
  return OrThrow(InitModel(store, manifest, TinyVocabulary(), options));
}

std::shared_ptr<const Model> MakeModel(const bundle::v1::ModelBundleManifest& manifest,
                                       const ModelOptions& options) {
  const TempDir store;
  return OrThrow(LoadModel(MakeBundle(store.path(), manifest), options));
}

ImageInput RandomImage(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> feature;
  std::uniform_real_distribution<float> corner(0.0f, 0.5f);
  ImageInput image;
  image.regions.count = count;
  image.regions.feature_size = 10;
  for (int64_t i = 0; i < count * 10; ++i) image.regions.features.push_back(feature(random));
  for (int64_t i = 0; i < count; ++i) {
    const float x = corner(random), y = corner(random);
    image.regions.boxes.insert(image.regions.boxes.end(), {x, y, x + 0.5f, y + 0.25f});
  }
  return image;
}

Pixels RandomPixels(int width, int height, uint32_t seed) {
  std::mt19937 random(seed);
  Pixels pixels{width, height, {}};
  pixels.rgb.resize(size_t{3} * width * height);
  for (uint8_t& byte : pixels.rgb) byte = random() & 0xff;
  return pixels;
}

Tokens RandomText(int count, uint32_t seed) {
  std::mt19937 random(seed);
  Tokens tokens;
  tokens.ids.push_back(2);
  for (int i = 0; i < count; ++i) tokens.ids.push_back(kSpecialTokens + random() % 30);
  tokens.ids.push_back(3);
  return tokens;
}

}  // namespace sightline
