#include "common/models/init_model.h"
#include "common/models/oscar/small_manifest.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/formats/safetensors.h"
#include "common/models/model.h"
#include "tests/common/models/lightningdot/tiny.h"
#include "tests/common/models/tiny_family.h"
#include "tests/common/models/tiny_model.h"
#include "tests/common/models/uniter/tiny.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

TEST_CASE("a bundle from nothing loads, and is the same for the same seed") {
  const TempDir first, second;
  const auto a = InitModel(first.path(), TinyManifest(), TinyVocabulary(), {});
  REQUIRE(a.ok());
  REQUIRE(a->manifest.transformer().vocabulary_size() == 36);
  REQUIRE(!a->manifest.embedding().space().empty());
  const auto b = InitModel(second.path(), TinyManifest(), TinyVocabulary(), {});
  REQUIRE(b->id == a->id);
  InitOptions other;
  other.seed = 2;
  REQUIRE(InitModel(second.path(), TinyManifest(), TinyVocabulary(), other)->id != a->id);

  const auto reopened = OpenModelBundle(a->directory, /*verify_checksums=*/true);
  REQUIRE(reopened.ok());
  const auto model = LoadModel(*reopened, {});
  REQUIRE(model.ok());
  REQUIRE((*model)->id() == a->id);
  REQUIRE((*model)->space() == a->manifest.embedding().space());
}

TEST_CASE("what another bundle has of the same names and shapes is taken, and the rest drawn") {
  const TempDir store;
  const ModelBundle other = *InitModel(store.path(), TinyManifest(), TinyVocabulary(), {});
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  manifest.mutable_transformer()->set_layer_count(manifest.transformer().layer_count() + 1);
  InitOptions options;
  options.seed = 2;
  const auto borrowed = InitModelFrom(other, store.path(), manifest, options);
  INFO(borrowed.status());
  REQUIRE(borrowed.ok());
  REQUIRE(LoadModel(borrowed->bundle, {}).ok());
  REQUIRE(*ReadFile(borrowed->bundle.FilePath(kVocabularyFile)) == TinyVocabulary());

  const auto fresh = InitModel(store.path(), manifest, TinyVocabulary(), options);
  const auto held = *Safetensors::Open(other.FilePath(kWeightsFile));
  const auto drawn = *Safetensors::Open(fresh->FilePath(kWeightsFile));
  const auto made = *Safetensors::Open(borrowed->bundle.FilePath(kWeightsFile));
  REQUIRE(made->tensors().size() == drawn->tensors().size());
  REQUIRE(borrowed->taken == static_cast<int64_t>(held->tensors().size()));
  REQUIRE(borrowed->drawn.size() == drawn->tensors().size() - held->tensors().size());
  for (const auto& [name, tensor] : made->tensors()) {
    INFO(name);
    const auto own = held->tensors().find(name);
    const TensorView& expected =
        own == held->tensors().end() ? drawn->tensors().at(name) : own->second;
    REQUIRE(tensor.bytes == expected.bytes);
  }
  for (const std::string& name : borrowed->drawn) REQUIRE(held->tensors().count(name) == 0);
}

TEST_CASE("whole heads of pre-training come along within a family") {
  const TempDir store;
  const ModelBundle plain = *InitModel(store.path(), TinyManifest(), TinyVocabulary(), {});
  const std::string bytes = *ReadFile(plain.FilePath(kWeightsFile));
  std::map<std::string, TensorView> tensors = (*Safetensors::FromBytes(bytes))->tensors();
  const int64_t width = plain.manifest.transformer().hidden_size();
  const std::string numbers(static_cast<size_t>(width * width) * sizeof(float), '\0');
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    const int64_t count = shape.size() == 2 ? shape[0] * shape[1] : shape[0];
    tensors[name] = {TensorDtype::kF32, shape,
                     absl::string_view(numbers).substr(0, count * sizeof(float))};
  };
  const std::string transform = "cls.predictions.transform.";
  add(transform + "dense.weight", {width, width});
  for (const char* part : {"dense.bias", "LayerNorm.weight", "LayerNorm.bias"}) {
    add(transform + part, {width});
  }
  add("cls.predictions.bias", {36});
  add("feat_regress.net.0.bias", {width});
  const ModelBundle other =
      *WriteModelBundle(store.path(), plain.manifest,
                        {{std::string(kWeightsFile), SerializeSafetensors(tensors)},
                         {std::string(kVocabularyFile), TinyVocabulary()}});
  bundle::v1::ModelBundleManifest deeper = TinyManifest();
  deeper.mutable_transformer()->set_layer_count(deeper.transformer().layer_count() + 1);
  const auto borrowed = InitModelFrom(other, store.path(), deeper, {});
  INFO(borrowed.status());
  REQUIRE(borrowed.ok());
  const auto made = *Safetensors::Open(borrowed->bundle.FilePath(kWeightsFile));
  REQUIRE(made->tensors().count("cls.predictions.bias") == 1);
  REQUIRE(made->tensors().count("feat_regress.net.0.bias") == 0);
  REQUIRE(borrowed->taken == static_cast<int64_t>(tensors.size()) - 1);
  REQUIRE(LoadModel(borrowed->bundle, {}).ok());
}

TEST_CASE("a model of half the layers begins with every second one of another") {
  const TempDir store;
  bundle::v1::ModelBundleManifest whole = TinyManifest(), half = TinyManifest();
  whole.mutable_transformer()->set_layer_count(4);
  half.mutable_transformer()->set_layer_count(2);
  const ModelBundle other = *InitModel(store.path(), whole, TinyVocabulary(), {});
  InitOptions options;
  options.seed = 2;
  const std::string layer = "bert.encoder.layer.";
  const auto borrowed =
      InitModelFrom(other, store.path(), half, options, {{layer + "2.", layer + "1."}});
  INFO(borrowed.status());
  REQUIRE(borrowed.ok());
  REQUIRE(borrowed->drawn.empty());
  const auto of = *Safetensors::Open(other.FilePath(kWeightsFile));
  const auto made = *Safetensors::Open(borrowed->bundle.FilePath(kWeightsFile));
  const std::string weight = ".attention.self.key.weight";
  for (const auto& [place, taken] : {std::pair("0", "0"), std::pair("1", "2")}) {
    INFO(place);
    REQUIRE(made->tensors().at(layer + place + weight).bytes ==
            of->tensors().at(layer + taken + weight).bytes);
  }
  const absl::Status none =
      InitModelFrom(other, store.path(), half, options, {{layer + "7.", "x."}}).status();
  REQUIRE(none.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(none.message(), "no tensor whose name begins with"));
  const absl::Status twice =
      InitModelFrom(other, store.path(), half, options,
                    {{layer + "2.", layer + "1."}, {layer + "3.", layer + "1."}})
          .status();
  REQUIRE(twice.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(twice.message(), "two tensors that are to be \"" + layer + "1."));
}

TEST_CASE("a LightningDOT begins with a UNITER as its image tower and a BERT as its text tower") {
  const TempDir store;
  const ModelBundle uniter = MakeTinyBundle(store.path(), TinyUniter(), /*seed=*/3);
  const ModelBundle others = MakeTinyBundle(store.path(), TinyUniter(), /*seed=*/4);
  const auto image = *Safetensors::Open(uniter.FilePath(kWeightsFile));
  const auto text = *Safetensors::Open(others.FilePath(kWeightsFile));
  std::map<std::string, TensorView> bert;
  for (const auto& [name, tensor] : text->tensors()) {
    for (const char* part : {"embeddings.", "encoder."}) {
      const std::string prefix = absl::StrCat("uniter.", part);
      if (absl::StartsWith(name, prefix)) bert[name.substr(7)] = tensor;
    }
  }
  const std::string bert_path = store.File("bert.safetensors");
  REQUIRE(WriteFileAtomically(bert_path, SerializeSafetensors(bert)).ok());
  const TinyFamily family = TinyLightningDot();
  const std::vector<WeightsSource> sources = {{uniter.directory, {{"uniter.", "img_model.bert."}}},
                                              {bert_path, {{"", "txt_model.bert."}}}};
  const auto made =
      InitModelFrom(sources, store.path(), family.manifest, TinyWordPieces(), InitOptions());
  INFO(made.status());
  REQUIRE(made.ok());
  REQUIRE(LoadModel(made->bundle, {}).ok());
  for (const std::string& name : made->drawn) REQUIRE(absl::StrContains(name, "encode_proj."));
  const auto weights = *Safetensors::Open(made->bundle.FilePath(kWeightsFile));
  const std::string part = "embeddings.word_embeddings.weight";
  REQUIRE(weights->tensors().at("img_model.bert." + part).bytes ==
          image->tensors().at("uniter." + part).bytes);
  REQUIRE(weights->tensors().at("txt_model.bert." + part).bytes == bert.at(part).bytes);
  REQUIRE(bert.at(part).bytes != image->tensors().at("uniter." + part).bytes);

  // By their own names neither has anything.
  const absl::Status none = InitModelFrom({{uniter.directory, {}}}, store.path(), family.manifest,
                                          TinyWordPieces(), InitOptions())
                                .status();
  REQUIRE(absl::IsInvalidArgument(none));
  REQUIRE(absl::StrContains(none.message(), uniter.directory));
  const absl::Status misnamed =
      InitModelFrom({{uniter.directory, {{"uniter.", "img_model.bert."}, {"zzz.", "b."}}}},
                    store.path(), family.manifest, TinyWordPieces(), InitOptions())
          .status();
  REQUIRE(absl::IsInvalidArgument(misnamed));
  REQUIRE(absl::StrContains(misnamed.message(), "no tensor whose name begins with \"zzz.\""));
  const absl::Status missing = InitModelFrom({{store.File("none.pt"), {}}}, store.path(),
                                             family.manifest, TinyWordPieces(), InitOptions())
                                   .status();
  REQUIRE(absl::StrContains(missing.message(), "none.pt"));
}

TEST_CASE("a tensor of another shape is drawn, and a bundle that has none that fits is refused") {
  const TempDir store;
  const ModelBundle other = *InitModel(store.path(), TinyManifest(), TinyVocabulary(), {});
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  bundle::v1::TransformerSpec* spec = manifest.mutable_transformer();
  spec->set_position_count(spec->position_count() + 1);
  const auto borrowed = InitModelFrom(other, store.path(), manifest, {});
  INFO(borrowed.status());
  REQUIRE(borrowed.ok());
  REQUIRE(borrowed->drawn ==
          std::vector<std::string>{"bert.embeddings.position_embeddings.weight"});

  const float number = 1;
  TensorView strange;
  strange.shape = {1};
  strange.bytes = {reinterpret_cast<const char*>(&number), sizeof(number)};
  const ModelBundle others = *WriteModelBundle(
      store.path(), other.manifest,
      {{std::string(kWeightsFile), SerializeSafetensors({{"another.weight", strange}})},
       {std::string(kVocabularyFile), TinyVocabulary()}});
  const absl::Status none = InitModelFrom(others, store.path(), TinyManifest(), {}).status();
  REQUIRE(absl::IsInvalidArgument(none));
  REQUIRE(absl::StrContains(none.message(), "has no tensor of a name and a shape"));

  ModelBundle ensemble = other;
  ensemble.manifest.clear_tokenizer();
  const absl::Status bare = InitModelFrom(ensemble, store.path(), TinyManifest(), {}).status();
  REQUIRE(absl::IsInvalidArgument(bare));
  REQUIRE(absl::StrContains(bare.message(), "no vocabulary of its own"));
}

TEST_CASE("the demo's model stays below 30 MB with BERT's vocabulary, and loads") {
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (int i = 5; i < 30522; ++i) vocabulary += "w" + std::to_string(i) + "\n";
  const TempDir store;
  const auto bundle = InitModel(store.path(), SmallOscarManifest(), vocabulary, {});
  REQUIRE(bundle.ok());
  const auto bytes = FileSize(bundle->FilePath(kWeightsFile));
  REQUIRE(*bytes < 30'000'000);
  REQUIRE(*bytes > 20'000'000);
  const auto model = LoadModel(*bundle, {});
  REQUIRE(model.ok());
  const auto regions =
      (*model)->region_extractor()->Extract({RandomPixels(120, 80, 1)}, CallContext::Unbounded());
  REQUIRE(regions.ok());
  REQUIRE((*regions)[0].count == 36);
}

TEST_CASE("a vocabulary that is malformed or of another length is refused") {
  const TempDir store;
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  REQUIRE(absl::IsInvalidArgument(InitModel(store.path(), manifest, "a\nb\n", {}).status()));
  manifest.mutable_transformer()->set_vocabulary_size(35);
  const absl::Status status = InitModel(store.path(), manifest, TinyVocabulary(), {}).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "36"));
}

TEST_CASE("a manifest that describes no model is refused before anything is written") {
  const TempDir store;
  bundle::v1::ModelBundleManifest manifest = TinyManifest();
  manifest.mutable_transformer()->set_head_count(0);
  REQUIRE(
      absl::IsInvalidArgument(InitModel(store.path(), manifest, TinyVocabulary(), {}).status()));
  REQUIRE(ListFilesBelow(store.path())->empty());
}

}  // namespace
}  // namespace sightline
