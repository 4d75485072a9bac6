#include "tests/common/models/tiny_family.h"

#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/init_model.h"
#include "nlohmann/json.hpp"
#include "tests/common/models/tiny_model.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::EmbeddingSpec;
using bundle::v1::ModelBundleManifest;
using bundle::v1::TokenizerSpec;

template <typename T>
T OrThrow(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

// The same tensors with something added to each number: freshly made norms are all alike.
std::string Shaken(const std::string& safetensors, uint64_t seed) {
  const auto file = OrThrow(Safetensors::FromBytes(safetensors));
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::uniform_real_distribution<float> more(-0.3f, 0.3f);
  std::map<std::string, TensorView> tensors = file->tensors();
  std::map<std::string, std::string> bytes;
  for (auto& [name, tensor] : tensors) {
    std::vector<float> values(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    for (float& value : values) value += more(random);
    std::string& shaken = bytes[name];
    shaken.assign(reinterpret_cast<const char*>(values.data()), tensor.bytes.size());
    tensor.bytes = shaken;
  }
  return SerializeSafetensors(tensors);
}

const std::string& Word(int i) {
  return TinyWords()[i % TinyWords().size()];
}

}  // namespace

ModelBundle MakeTinyBundle(const std::string& store, const TinyFamily& family, uint64_t seed) {
  if (family.make != nullptr) return family.make(store, family, seed);
  InitOptions options;
  options.seed = seed;
  options.dtype = WeightDtype::kFloat32;
  const TempDir untouched;
  const ModelBundle bundle =
      OrThrow(InitModel(untouched.path(), family.manifest, family.vocabulary, options));
  const std::string bytes = OrThrow(ReadFile(bundle.FilePath(kWeightsFile)));
  return OrThrow(WriteModelBundle(
      store, bundle.manifest,
      {{std::string(kWeightsFile), Shaken(bytes, seed)}, {"vocabulary", family.vocabulary}}));
}

ImageInput TinyImage(const TinyFamily& family, int i) {
  ImageInput image = RandomImage(family.region_count > 0 ? family.region_count : 1 + i * 5 % 9, i);
  for (int k = 0; k < i % 4; ++k) {
    image.tags.push_back(Word(i + k));
    image.ocr_tokens.push_back(Word(i + 2 * k + 3));
  }
  return image;
}

std::string TinyText(int i) {
  std::string text = Word(i);
  for (int k = 1; k <= i * 7 % 8; ++k) absl::StrAppend(&text, " ", Word(i + k * k));
  return text;
}

const std::vector<std::string>& TinyWords() {
  static const auto* const words =
      new std::vector<std::string>{"a", "red", "blue", "fish", "bird", "big", "tree", "in", "the"};
  return *words;
}

std::string TinyWordPieces() {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (const std::string& word : TinyWords()) absl::StrAppend(&text, word, "\n");
  return text;
}

std::string TinyWordList() {
  nlohmann::json words = {{"<pad>", 0}, {"<start>", 1}, {"<end>", 2}, {"<unk>", 3}};
  for (const std::string& word : TinyWords()) words[word] = words.size();
  nlohmann::json by_id = nlohmann::json::object();
  for (const auto& [word, id] : words.items()) by_id[absl::StrCat(id.get<int>())] = word;
  return nlohmann::json({{"word2idx", words}, {"idx2word", by_id}, {"idx", words.size()}}).dump();
}

ModelBundleManifest TinyManifest(const std::string& family, TokenizerSpec::Kind kind) {
  ModelBundleManifest manifest;
  manifest.set_family(family);
  manifest.mutable_tokenizer()->set_kind(kind);
  manifest.mutable_tokenizer()->set_vocabulary_file("vocabulary");
  manifest.mutable_tokenizer()->set_max_token_count(12);
  return manifest;
}

void AddTinyTransformer(int region_feature_size, ModelBundleManifest* manifest) {
  bundle::v1::TransformerSpec* spec = manifest->mutable_transformer();
  spec->set_layer_count(2);
  spec->set_hidden_size(16);
  spec->set_head_count(2);
  spec->set_intermediate_size(24);
  spec->set_position_count(32);
  spec->set_token_type_count(2);
  spec->set_region_feature_size(region_feature_size);
  spec->set_max_region_count(9);
  spec->set_layer_norm_epsilon(1e-12f);
}

void AddTinyEmbedding(int dimension, EmbeddingSpec::Metric metric, ModelBundleManifest* manifest) {
  manifest->mutable_embedding()->set_dimension(dimension);
  manifest->mutable_embedding()->set_metric(metric);
}

void AddTinyCrossEncoder(const std::string& score_kind, ModelBundleManifest* manifest) {
  manifest->mutable_cross_encoder()->set_score_kind(score_kind);
  manifest->mutable_cross_encoder()->set_combination("replace");
}

}  // namespace sightline
