#include "common/bundle/model_bundle.h"

#include <google/protobuf/descriptor.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/checksum.h"
#include "common/base/files.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/bundle/manifests.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;
using Files = std::map<std::string, std::string>;

const Files& SmallFiles() {
  static const auto* const files =
      new Files{{"vocab.txt", "[PAD]\n"}, {"weights.safetensors", "weights"}, {"x/more", ""}};
  return *files;
}

TEST_CASE("a bundle is written and opened under the digest of its manifest") {
  TempDir store;
  const auto written = WriteModelBundle(store.path(), SoundModelManifest(), SmallFiles());
  REQUIRE(written.ok());
  REQUIRE(written->directory == store.File("models/" + written->id));
  REQUIRE(written->id == *Sha256HexOfFile(written->FilePath("manifest.json")));
  REQUIRE(written->manifest.files_size() == 3);
  REQUIRE(written->manifest.embedding().space() == EmbeddingSpaceOf(written->manifest));

  for (const bool verify : {false, true}) {
    const auto opened = OpenModelBundle(written->directory, verify);
    REQUIRE(opened.ok());
    REQUIRE(opened->id == written->id);
    REQUIRE(opened->manifest.SerializeAsString() == written->manifest.SerializeAsString());
    REQUIRE(*ReadFile(opened->FilePath(kVocabularyFile)) == "[PAD]\n");
  }
  REQUIRE(OpenModelBundle(written->directory + "/", true)->id == written->id);
  REQUIRE(*ListDirectory(store.File("models")) == std::vector<std::string>{written->id});
  REQUIRE(*ListFilesBelow(written->directory) ==
          std::vector<std::string>{"manifest.json", "vocab.txt", "weights.safetensors", "x/more"});
}

TEST_CASE("writing what exists is no error, and changes nothing") {
  TempDir store;
  const auto first = WriteModelBundle(store.path(), SoundModelManifest(), SmallFiles());
  const auto second = WriteModelBundle(store.path(), SoundModelManifest(), SmallFiles());
  REQUIRE(second.ok());
  REQUIRE(second->id == first->id);
  Overwrite(first->FilePath("vocab.txt"), "[UNK]\n");
  const auto third = WriteModelBundle(store.path(), SoundModelManifest(), SmallFiles());
  REQUIRE(absl::IsDataLoss(third.status()));
  REQUIRE_THAT(std::string(third.status().message()),
               Catch::Contains("remove the folder " + first->directory));
}

TEST_CASE("writers of one bundle do not disturb each other") {
  TempDir store;
  std::vector<absl::StatusOr<ModelBundle>> bundles(4, absl::UnknownError("not run"));
  std::vector<std::thread> threads;
  for (auto& bundle : bundles) {
    threads.emplace_back(
        [&] { bundle = WriteModelBundle(store.path(), SoundModelManifest(), SmallFiles()); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& bundle : bundles) REQUIRE(bundle.ok());
  REQUIRE(ListDirectory(store.File("models"))->size() == 1);
}

TEST_CASE("damage is found: length always, content when asked for") {
  TempDir store;
  const auto bundle = *WriteModelBundle(store.path(), SoundModelManifest(), SmallFiles());
  const std::string path = bundle.FilePath(kWeightsFile);
  Overwrite(path, "weightS");
  REQUIRE(OpenModelBundle(bundle.directory, false).ok());
  const auto changed = OpenModelBundle(bundle.directory, true);
  REQUIRE(absl::IsDataLoss(changed.status()));
  REQUIRE(std::string(changed.status().message()).find("SHA-256") != std::string::npos);
  Overwrite(path, "weight");
  REQUIRE(absl::IsDataLoss(OpenModelBundle(bundle.directory, false).status()));
  REQUIRE(::unlink(path.c_str()) == 0);
  const auto gone = OpenModelBundle(bundle.directory, false);
  REQUIRE(absl::IsDataLoss(gone.status()));
  REQUIRE(std::string(gone.status().message()).find("missing") != std::string::npos);
}

TEST_CASE("any change of the manifest is found, since the folder's name stands for it") {
  TempDir store;
  const auto bundle = *WriteModelBundle(store.path(), SoundModelManifest(), SmallFiles());
  const std::string path = bundle.FilePath("manifest.json");
  const std::string json = *ReadFile(path);
  for (size_t at = 0; at < json.size(); at += 7) {
    std::string changed = json;
    changed[at] ^= 1;
    Overwrite(path, changed);
    if (!absl::IsDataLoss(OpenModelBundle(bundle.directory, false).status())) FAIL("byte " << at);
  }
  Overwrite(path, json);
  REQUIRE(OpenModelBundle(bundle.directory, false).ok());
}

TEST_CASE("a folder that is no bundle is refused") {
  TempDir store;
  REQUIRE(
      absl::IsNotFound(OpenModelBundle(store.File("models/" + Sha256Hex("none")), false).status()));
  REQUIRE(absl::IsDataLoss(OpenModelBundle(store.File("models/latest"), false).status()));
  REQUIRE(absl::IsDataLoss(OpenModelBundle("", false).status()));
}

// Puts a manifest in place under its right name, whatever it says.
std::string PlaceManifest(const TempDir& store, const ModelBundleManifest& manifest) {
  std::string json;
  // The text form that ManifestJson gives is not required of others' manifests.
  json =
      "{\"format_version\":" + std::to_string(manifest.format_version()) +
      ",\"family\":\"oscar\",\"embedding\":{\"dimension\":64,\"metric\":\"COSINE\",\"space\":\"" +
      manifest.embedding().space() + "\"},\"files\":[{\"path\":\"" + manifest.files(0).path() +
      "\",\"sha256\":\"" + manifest.files(0).sha256() + "\"}]}";
  const std::string directory = store.File("models/" + Sha256Hex(json));
  REQUIRE(MakeDirectories(directory).ok());
  Overwrite(directory + "/manifest.json", json);
  Overwrite(directory + "/empty", "");
  return directory;
}

TEST_CASE("a manifest under its right name is still not believed") {
  TempDir store;
  ModelBundleManifest manifest;
  manifest.set_format_version(1);
  manifest.set_family("oscar");
  manifest.mutable_embedding()->set_dimension(64);
  manifest.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::COSINE);
  manifest.add_files()->set_path("empty");
  manifest.mutable_files(0)->set_sha256(Sha256Hex(""));
  manifest.mutable_embedding()->set_space(EmbeddingSpaceOf(manifest));
  REQUIRE(OpenModelBundle(PlaceManifest(store, manifest), true).ok());

  ModelBundleManifest newer = manifest;
  newer.set_format_version(2);
  REQUIRE(absl::IsFailedPrecondition(OpenModelBundle(PlaceManifest(store, newer), false).status()));
  ModelBundleManifest elsewhere = manifest;
  elsewhere.mutable_embedding()->set_space(Sha256Hex("another space"));
  REQUIRE(absl::IsDataLoss(OpenModelBundle(PlaceManifest(store, elsewhere), false).status()));
  ModelBundleManifest escaping = manifest;
  escaping.mutable_files(0)->set_path("../../../etc/passwd");
  REQUIRE(absl::IsDataLoss(OpenModelBundle(PlaceManifest(store, escaping), false).status()));
}

TEST_CASE("what cannot be a bundle is not written") {
  TempDir store;
  for (const char* name : {"../x", "/x", "a//b", ".hidden", "manifest.json", ""}) {
    CAPTURE(name);
    Files files = SmallFiles();
    files[name] = "x";
    REQUIRE(absl::IsInvalidArgument(
        WriteModelBundle(store.path(), SoundModelManifest(), files).status()));
  }
  REQUIRE(absl::IsInvalidArgument(
      WriteModelBundle(store.path(), SoundModelManifest(), {{"weights.safetensors", "w"}})
          .status()));  // without the vocabulary that the tokenizer names
  REQUIRE_FALSE(FileExists(store.File("models")));
}

TEST_CASE("the embedding space changes with all that decides where a text lands") {
  const ModelBundleManifest manifest = SoundModelManifest();
  const std::string space = EmbeddingSpaceOf(manifest);
  const std::vector<std::function<void(ModelBundleManifest&)>> matter = {
      [](auto& m) { m.set_family("uniter"); },
      [](auto& m) { m.mutable_files(0)->set_sha256(Sha256Hex("another vocabulary")); },
      [](auto& m) { m.mutable_files(1)->set_sha256(Sha256Hex("other weights")); },
      [](auto& m) { m.mutable_tokenizer()->set_lowercase(true); },
      [](auto& m) { m.mutable_transformer()->set_layer_norm_epsilon(1e-5f); },
      [](auto& m) { m.mutable_transformer()->set_region_layer_norm_epsilon(1e-5f); },
      [](auto& m) { m.mutable_grid_extractor()->set_mean(0, 0.1f); },
      [](auto& m) { m.mutable_region_rule()->set_confidence_floor(0.2f); },
      [](auto& m) { m.mutable_scene_text()->set_max_token_count(64); },
      [](auto& m) { m.mutable_tags()->set_token_type(1); },
      [](auto& m) { m.mutable_fixed_lengths()->set_text_length(35); },
      [](auto& m) { m.mutable_torch_script()->set_text_encoder("vocab.txt"); },
      [](auto& m) { m.mutable_embedding()->set_dimension(32); },
      [](auto& m) { m.mutable_embedding()->set_metric(bundle::v1::EmbeddingSpec::INNER_PRODUCT); },
      [](auto& m) { m.mutable_embedding()->set_rows(bundle::v1::EmbeddingSpec::FIRST_ROW); },
  };
  for (size_t i = 0; i < matter.size(); ++i) {
    CAPTURE(i);
    ModelBundleManifest changed = manifest;
    matter[i](changed);
    REQUIRE(EmbeddingSpaceOf(changed) != space);
  }
  ModelBundleManifest scripted = manifest, other_script = manifest;
  scripted.mutable_torch_script()->set_text_encoder("weights.safetensors");
  other_script.mutable_torch_script()->set_text_encoder("weights.safetensors");
  other_script.mutable_files(1)->set_sha256(Sha256Hex("another script"));
  REQUIRE(EmbeddingSpaceOf(scripted) != EmbeddingSpaceOf(other_script));
  ModelBundleManifest same = manifest;
  same.set_description("another description");
  same.mutable_cross_encoder()->set_combination_lambda(0.1f);
  same.mutable_sgraf()->set_word_size(300);
  same.mutable_embedding()->set_space("");
  same.mutable_files(0)->set_path("words.txt");
  same.mutable_tokenizer()->set_vocabulary_file("words.txt");
  REQUIRE(EmbeddingSpaceOf(same) == space);
}

TEST_CASE("each part of a manifest is known to count for the embedding space, or not to") {
  // Whoever adds one says here which it is: what counts makes stores that have it be encoded anew.
  const std::set<std::string> count = {"tokenizer", "transformer",   "grid_extractor",
                                       "embedding", "region_rule",   "scene_text",
                                       "tags",      "fixed_lengths", "torch_script"};
  const std::set<std::string> others = {"cross_encoder", "sgraf"};
  std::set<std::string> parts;
  const google::protobuf::Descriptor& fields = *ModelBundleManifest::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = fields.field(i);
    if (!field->is_repeated() && field->message_type() != nullptr) parts.insert(field->name());
  }
  std::set<std::string> known = count;
  known.insert(others.begin(), others.end());
  REQUIRE(parts == known);
}

}  // namespace
}  // namespace sightline
