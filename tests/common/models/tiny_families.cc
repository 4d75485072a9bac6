#include "tests/common/models/tiny_families.h"

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
#include "tests/common/models/tiny_scripts.h"
#include "tests/support/sentencepiece_model.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::EmbeddingSpec;
using bundle::v1::ModelBundleManifest;
using bundle::v1::TokenizerSpec;

constexpr const char* kWords[] = {"a", "red", "blue", "fish", "bird", "big", "tree", "in", "the"};

template <typename T>
T OrThrow(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

ModelBundleManifest Manifest(const std::string& family, TokenizerSpec::Kind kind) {
  ModelBundleManifest manifest;
  manifest.set_family(family);
  manifest.mutable_tokenizer()->set_kind(kind);
  manifest.mutable_tokenizer()->set_vocabulary_file("vocabulary");
  manifest.mutable_tokenizer()->set_max_token_count(12);
  return manifest;
}

void AddTransformer(int region_feature_size, ModelBundleManifest* manifest) {
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

void AddEmbedding(int dimension, EmbeddingSpec::Metric metric, ModelBundleManifest* manifest) {
  manifest->mutable_embedding()->set_dimension(dimension);
  manifest->mutable_embedding()->set_metric(metric);
}

void AddCrossEncoder(const std::string& score_kind, ModelBundleManifest* manifest) {
  manifest->mutable_cross_encoder()->set_score_kind(score_kind);
  manifest->mutable_cross_encoder()->set_combination("replace");
}

std::string WordPieces() {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (const char* word : kWords) absl::StrAppend(&text, word, "\n");
  return text;
}

std::string WordList() {
  nlohmann::json words = {{"<pad>", 0}, {"<start>", 1}, {"<end>", 2}, {"<unk>", 3}};
  for (const char* word : kWords) words[word] = words.size();
  nlohmann::json by_id = nlohmann::json::object();
  for (const auto& [word, id] : words.items()) by_id[absl::StrCat(id.get<int>())] = word;
  return nlohmann::json({{"word2idx", words}, {"idx2word", by_id}, {"idx", words.size()}}).dump();
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

TinyFamily Sgraf(const std::string& name, bundle::v1::SgrafSpec::Module module, bool emde) {
  TinyFamily family;
  family.name = name;
  family.manifest = Manifest("sgraf", TokenizerSpec::WORD_LIST);
  family.vocabulary = WordList();
  family.region_count = 5;
  family.region_order_matters = true;
  bundle::v1::SgrafSpec* spec = family.manifest.mutable_sgraf();
  spec->set_module(module);
  spec->set_word_size(6);
  spec->set_embedding_size(12);
  spec->set_similarity_size(8);
  spec->set_region_feature_size(10);
  spec->set_region_count(5);
  if (module == bundle::v1::SgrafSpec::SGR) spec->set_step_count(3);
  if (emde) {
    spec->mutable_emde()->set_partition_count(3);
    spec->mutable_emde()->set_cell_count(4);
    spec->mutable_emde()->set_cell_size(2);
    // A sketch forgets order, and so does all else without the global node.
    family.region_order_matters = false;
  }
  AddCrossEncoder("sigmoid", &family.manifest);
  return family;
}

}  // namespace

TinyFamily TinyOscar() {
  TinyFamily family{"oscar", Manifest("oscar", TokenizerSpec::WORDPIECE), WordPieces(), 0, false};
  AddTransformer(16, &family.manifest);
  AddEmbedding(16, EmbeddingSpec::COSINE, &family.manifest);
  AddCrossEncoder("softmax_match", &family.manifest);
  family.manifest.mutable_tags()->set_max_token_count(16);
  family.manifest.mutable_tags()->set_token_type(1);
  return family;
}

TinyFamily TinyUniter() {
  TinyFamily family{"uniter", Manifest("uniter", TokenizerSpec::WORDPIECE), WordPieces(), 0, false};
  AddTransformer(10, &family.manifest);
  AddCrossEncoder("rank_raw", &family.manifest);
  return family;
}

TinyFamily TinyLightningDot() {
  TinyFamily family{"lightningdot", Manifest("lightningdot", TokenizerSpec::WORDPIECE),
                    WordPieces(), 0, false};
  AddTransformer(10, &family.manifest);
  AddEmbedding(16, EmbeddingSpec::INNER_PRODUCT, &family.manifest);
  return family;
}

TinyFamily TinySceneText() {
  TinyFamily family = TinyLightningDot();
  family.name = "lightningdot with scene text";
  family.manifest.mutable_transformer()->set_projection_hidden_size(20);
  family.manifest.mutable_embedding()->set_dimension(12);
  family.manifest.mutable_scene_text()->set_max_token_count(6);
  family.manifest.mutable_scene_text()->set_first_position(1);
  return family;
}

TinyFamily TinyVlDeformer() {
  TinyFamily family{"vldeformer", Manifest("vldeformer", TokenizerSpec::WORDPIECE), WordPieces(), 0,
                    false};
  AddTransformer(16, &family.manifest);
  AddEmbedding(16, EmbeddingSpec::COSINE, &family.manifest);
  family.manifest.mutable_tags()->set_max_token_count(7);
  family.manifest.mutable_tags()->set_token_type(1);
  family.manifest.mutable_fixed_lengths()->set_text_length(12);
  family.manifest.mutable_fixed_lengths()->set_tag_length(7);
  family.manifest.mutable_fixed_lengths()->set_region_count(9);
  return family;
}

TinyFamily TinyM3p() {
  TinyFamily family{"m3p", Manifest("m3p", TokenizerSpec::SENTENCEPIECE), "", 0, true};
  std::vector<std::string> pieces;
  for (const char* word : kWords) pieces.push_back(absl::StrCat("\xe2\x96\x81", word));
  family.vocabulary = SentencePieceModelBytes(pieces);
  AddTransformer(10, &family.manifest);
  family.manifest.mutable_transformer()->set_token_type_count(1);
  AddEmbedding(16, EmbeddingSpec::COSINE, &family.manifest);
  AddCrossEncoder("softmax_match", &family.manifest);
  return family;
}

TinyFamily TinySaf() {
  return Sgraf("saf", bundle::v1::SgrafSpec::SAF, /*emde=*/false);
}

TinyFamily TinySgr() {
  return Sgraf("sgr", bundle::v1::SgrafSpec::SGR, /*emde=*/false);
}

TinyFamily TinyTemde() {
  return Sgraf("saf with T-EMDE", bundle::v1::SgrafSpec::SAF, /*emde=*/true);
}

TinyFamily TinyTorchScript() {
  const TinyScripts scripts;
  return {"torchscript", scripts.manifest, scripts.vocabulary, 0, false};
}

TinyFamily TinyEnsemble() {
  TinyFamily family;
  family.name = "ensemble";
  family.manifest.set_family("ensemble");
  AddCrossEncoder("sigmoid", &family.manifest);
  for (const TinyFamily& member : {TinySaf(), TinySgr()}) {
    *family.manifest.add_members() = member.manifest;
    family.region_count = member.region_count;
    family.region_order_matters = member.region_order_matters;
  }
  return family;
}

std::vector<TinyFamily> TinyFamilies() {
  return {TinyOscar(),      TinyUniter(),      TinyLightningDot(), TinySceneText(),
          TinyVlDeformer(), TinyM3p(),         TinySaf(),          TinySgr(),
          TinyTemde(),      TinyTorchScript(), TinyEnsemble()};
}

ModelBundle MakeTinyBundle(const std::string& store, const TinyFamily& family, uint64_t seed) {
  if (family.manifest.family() == "torchscript") {
    TinyScripts scripts;
    scripts.manifest = family.manifest;
    return OrThrow(scripts.Bundle(store));
  }
  if (family.manifest.family() == "ensemble") {
    return MakeEnsemble(
        store, {MakeTinyBundle(store, TinySaf(), seed), MakeTinyBundle(store, TinySgr(), seed)});
  }
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

ModelBundle MakeEnsemble(const std::string& store, const std::vector<ModelBundle>& members) {
  ModelBundleManifest manifest;
  manifest.set_family("ensemble");
  AddCrossEncoder("sigmoid", &manifest);
  std::map<std::string, std::string> files;
  for (size_t i = 0; i < members.size(); ++i) {
    ModelBundleManifest* member = manifest.add_members();
    *member = members[i].manifest;
    member->clear_files();
    member->clear_format_version();
    for (const bundle::v1::BundleFile& file : members[i].manifest.files()) {
      files[absl::StrCat("members/", i, "/", file.path())] =
          OrThrow(ReadFile(members[i].FilePath(file.path())));
    }
  }
  return OrThrow(WriteModelBundle(store, manifest, files));
}

ImageInput TinyImage(const TinyFamily& family, int i) {
  ImageInput image = RandomImage(family.region_count > 0 ? family.region_count : 1 + i * 5 % 9, i);
  for (int k = 0; k < i % 4; ++k) {
    image.tags.push_back(kWords[(i + k) % 9]);
    image.ocr_tokens.push_back(kWords[(i + 2 * k + 3) % 9]);
  }
  return image;
}

std::string TinyText(int i) {
  std::string text = kWords[i % 9];
  for (int k = 1; k <= i * 7 % 8; ++k) absl::StrAppend(&text, " ", kWords[(i + k * k) % 9]);
  return text;
}

}  // namespace sightline
