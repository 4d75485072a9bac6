#include "common/models/convert/convert.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "common/models/inputs/region_input.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using absl::StrContains;
using bundle::v1::ModelBundleManifest;

std::string Replaced(const std::string& text, absl::string_view from, absl::string_view to) {
  return absl::StrReplaceAll(text, {{from, to}});
}

TEST_CASE("one UNITER in many wrappings gives one bundle") {
  Workplace place("uniter_small", 120);
  place.options.checkpoint = GoldenFolder("uniter_small") + "/weights.safetensors";
  const std::string id = place.MustWrite();
  place.options.checkpoint = GoldenFolder("uniter_small") + "/weights.pt";
  REQUIRE(place.MustWrite() == id);

  place.options.checkpoint = place.dir.File("model.pt");
  MutableCheckpoint old("uniter_small");
  old.Add("cls.predictions.bias", {120});
  old.Add("feat_regress.bias", {64});
  old.Rename([](const std::string& name) {
    std::string renamed = Replaced(name, "uniter.", "bert.");
    return Replaced(Replaced(renamed, "LayerNorm.weight", "LayerNorm.gamma"), "LayerNorm.bias",
                    "LayerNorm.beta");
  });
  old.SavePickle(place.options.checkpoint);
  REQUIRE(place.MustWrite() == id);
  old.Rename([](const std::string& name) { return "module." + name; });
  old.SavePickle(place.options.checkpoint);
  REQUIRE(place.MustWrite() == id);

  TorchFileBuilder file;
  const std::string root = pickle::Dict({{"epoch", pickle::Int(3)},
                                         {"state_dict", pickle::OrderedDict(old.Items(&file))},
                                         {"opt", pickle::Namespace({{"lr", pickle::Int(1)}})}});
  REQUIRE(WriteFileAtomically(place.options.checkpoint, file.Build(root)).ok());
  REQUIRE(place.MustWrite() == id);
}

TEST_CASE("a tensor beside the wrapper does not hide the model") {
  Workplace place("uniter_small", 120);
  MutableCheckpoint checkpoint("uniter_small");
  checkpoint.SavePickle(place.options.checkpoint);
  const std::string id = place.MustWrite();
  const std::string best = pickle::Bytes(3.5f);
  const auto save = [&](const std::vector<std::pair<std::string, std::string>>& beside) {
    TorchFileBuilder file;
    std::vector<std::pair<std::string, std::string>> items = {
        {"best_rsum", file.Tensor({TensorDtype::kF32, {}, best})},
        {"model", pickle::Dict({{"step", file.Tensor({TensorDtype::kF32, {1}, best})},
                                {"state_dict", pickle::OrderedDict(checkpoint.Items(&file))}})}};
    items.insert(items.end(), beside.begin(), beside.end());
    REQUIRE(WriteFileAtomically(place.options.checkpoint, file.Build(pickle::Dict(items))).ok());
  };
  save({});
  REQUIRE(place.MustWrite() == id);
  save({{"model_dict", pickle::Dict({})}});  // a wrapper of nothing hides none either
  REQUIRE(place.MustWrite() == id);
}

TEST_CASE("everything that does not fit is told in one message") {
  Workplace place("uniter_small", 120);
  MutableCheckpoint checkpoint("uniter_small");
  checkpoint.Erase("uniter.pooler.dense.bias");
  checkpoint.Erase("uniter.encoder.layer.1.output.dense.weight");
  checkpoint.Add("uniter.extra", {3, 4});
  checkpoint.Add("surprise", {2});
  checkpoint.Add("rank_output.weight", {2, 48});
  checkpoint.tensors["uniter.pooler.dense.weight"].dtype = TensorDtype::kI32;
  checkpoint.SaveSafetensors(place.dir.File("x.safetensors"));
  place.options.checkpoint = place.dir.File("x.safetensors");
  const std::string message = place.Refusal();
  INFO(message);
  REQUIRE(StrContains(message,
                      "missing: uniter.encoder.layer.1.output.dense.weight [48, 192], "
                      "uniter.pooler.dense.bias [48]"));
  REQUIRE(StrContains(message, "unexpected: surprise [2], uniter.extra [3, 4]"));
  REQUIRE(StrContains(message,
                      "unfit: rank_output.weight [2, 48] instead of [1, 48], "
                      "uniter.pooler.dense.weight holds integers"));
}

TEST_CASE("which regions are read can be told, and a floor of zero reads all") {
  for (const auto& [golden, words] :
       std::vector<std::pair<std::string, int>>{{"uniter_small", 120}, {"lightningdot", 150}}) {
    INFO(golden);
    Workplace place(golden, words);
    place.options.checkpoint = GoldenFolder(golden) + "/weights.safetensors";
    place.options.confidence_floor = 0.5;
    REQUIRE(place.MustConvert().manifest.region_rule().confidence_floor() == 0.5f);
    REQUIRE(place.MustConvert().manifest.region_rule().min_count() == 10);
    place.options.min_region_count = 0;
    REQUIRE(place.MustConvert().manifest.region_rule().min_count() == 0);
    place.options.min_region_count = 20;
    REQUIRE(place.MustConvert().manifest.region_rule().min_count() == 20);

    // conf_th -1 and num_bb 36.
    place.options.confidence_floor = 0;
    place.options.region_count = 36;
    REQUIRE(StrContains(place.Refusal(), "no --min-regions beside a floor of 0"));
    place.options.min_region_count.reset();
    const ModelBundleManifest all = place.MustConvert().manifest;
    const RegionReading reading = RegionReadingOf(all, BoxForm::kUniter);
    RegionSet regions;
    for (const int count : {5, 36, 60}) {
      regions.count = count;
      regions.feature_size = all.transformer().region_feature_size();
      regions.features.assign(static_cast<size_t>(count) * regions.feature_size, 0.25f);
      regions.boxes.assign(static_cast<size_t>(count) * 4, 0.0f);
      for (int i = 0; i < count; ++i) regions.boxes[i * 4 + 2] = regions.boxes[i * 4 + 3] = 0.5f;
      regions.confidences.assign(count, 0.0f);
      regions.confidences[0] = 0.9f;
      REQUIRE(ReadRegions(regions, reading)->count == std::min(count, 36));
    }
  }
  Workplace place("oscar", 150);
  place.options.checkpoint = GoldenFolder("oscar");
  place.options.confidence_floor = 0;
  REQUIRE(StrContains(place.Refusal(), "family oscar has no --confidence-floor"));
  place.options.confidence_floor.reset();
  place.options.min_region_count = 3;
  REQUIRE(StrContains(place.Refusal(), "family oscar has no --min-regions"));
}

TEST_CASE("heads are told by the config, an option, or a width of 64 for each") {
  Workplace place("uniter_small", 120);
  MutableCheckpoint("uniter_small").SavePickle(place.options.checkpoint);
  REQUIRE(WriteFileAtomically(place.dir.File("config.json"), "{}").ok());
  REQUIRE(StrContains(place.Refusal(), "--heads"));
  place.options.head_count = 6;
  REQUIRE(place.MustConvert().manifest.transformer().head_count() == 6);
  place.options.head_count = 5;
  REQUIRE(StrContains(place.Refusal(), "no multiple of head_count 5"));
  REQUIRE(WriteFileAtomically(place.dir.File("config.json"), "[]").ok());
  REQUIRE(StrContains(place.Refusal(), "config.json"));
  REQUIRE(WriteFileAtomically(place.dir.File("config.json"), "{\"hidden_act\": \"relu\"}").ok());
  REQUIRE(StrContains(place.Refusal(), "relu"));

  const MutableCheckpoint golden("m3p");  // 32 wide
  MutableCheckpoint doubled;
  for (const auto& [name, view] : golden.tensors) {
    std::vector<int64_t> shape = view.shape;
    for (int64_t& extent : shape) extent = extent == 32 ? 64 : extent;
    doubled.Add(name, shape);
  }
  doubled.SavePickle(place.options.checkpoint);
  REQUIRE(WriteFileAtomically(place.options.vocabulary, VocabularyFor("m3p", 90)).ok());
  REQUIRE(WriteFileAtomically(place.dir.File("config.json"), "{}").ok());
  place.options.head_count.reset();
  REQUIRE(place.MustConvert().manifest.transformer().head_count() == 1);
}

// Writing the value into the message took a call for each level, and the process its end.
TEST_CASE("a config that is nested deeper than the stack is refused") {
  Workplace place("uniter_small", 120);
  MutableCheckpoint("uniter_small").SavePickle(place.options.checkpoint);
  const std::string nested = std::string(400'000, '[') + std::string(400'000, ']');
  REQUIRE(WriteFileAtomically(place.dir.File("config.json"),
                              absl::StrCat(R"({"hidden_size": )", nested, "}"))
              .ok());
  REQUIRE_THAT(place.Refusal(), Catch::Contains("hidden_size an array, wanted a whole number"));
}

TEST_CASE("another model's config, or a number that is none, is refused") {
  Workplace place("uniter_small", 120);
  MutableCheckpoint("uniter_small").SavePickle(place.options.checkpoint);
  for (const auto& [config, said] : std::vector<std::pair<std::string, std::string>>{
           {R"({"num_attention_heads": 4, "hidden_size": 1024})",
            "hidden_size 1024, but the tensors have 48"},
           {R"({"num_attention_heads": 4, "num_hidden_layers": 24})", "tensors have 3"},
           {R"({"num_attention_heads": 4, "intermediate_size": 3072})", "tensors have 192"},
           {R"({"num_attention_heads": 4, "vocab_size": 28996})", "tensors have 120"},
           {R"({"num_attention_heads": "4"})", "num_attention_heads \"4\", wanted a whole number"},
           {R"({"num_attention_heads": 4.5})", "num_attention_heads 4.5, wanted a whole number"},
           {R"({"num_attention_heads": 4, "layer_norm_eps": "1e-12"})", "wanted a number"},
       }) {
    REQUIRE(WriteFileAtomically(place.dir.File("config.json"), config).ok());
    REQUIRE_THAT(place.Refusal(), Catch::Contains(said));
  }
  REQUIRE(WriteFileAtomically(place.dir.File("config.json"),
                              R"({"num_attention_heads": 4, "vocab_size": null})")
              .ok());
  place.MustConvert();
}

TEST_CASE("a file is what it holds, whatever its name") {
  Workplace place("uniter_small", 120);
  const MutableCheckpoint checkpoint("uniter_small");
  checkpoint.SaveSafetensors(place.options.checkpoint);  // model.pt
  const std::string id = place.MustWrite();
  place.options.checkpoint = place.dir.File("other.safetensors");
  checkpoint.SavePickle(place.options.checkpoint);
  REQUIRE(place.MustWrite() == id);
}

TEST_CASE("a vocabulary of another length than the word table is refused") {
  Workplace place("uniter_small", 119);
  MutableCheckpoint("uniter_small").SavePickle(place.options.checkpoint);
  const std::string message = place.Refusal();
  REQUIRE(StrContains(message, "119 tokens"));
  REQUIRE(StrContains(message, "120 rows"));
}

TEST_CASE("a vocabulary of another kind is refused with the kind that is read") {
  for (const auto& [golden, kind] : std::vector<std::pair<std::string, std::string>>{
           {"m3p", "family m3p reads a SentencePiece model"},
           {"saf", "family sgraf reads a JSON object with word2idx"}}) {
    Workplace place(golden, 60);
    REQUIRE(WriteFileAtomically(place.options.vocabulary, VocabularyOf(60)).ok());
    MutableCheckpoint(golden).SavePickle(place.options.checkpoint);
    REQUIRE(StrContains(place.Refusal(), kind));
  }
}

TEST_CASE("tensors that two families take for theirs are refused until one is named") {
  Workplace place("uniter_small", 120);
  MutableCheckpoint both("uniter_small");
  both.Add("image_embeddings.image_location_embeddings.bias", {48});
  both.SavePickle(place.options.checkpoint);
  REQUIRE_THAT(place.Refusal(), Catch::Contains("those of m3p and of uniter; give --family"));
  place.options.family = "uniter";
  REQUIRE(StrContains(place.Refusal(), "unexpected: image_embeddings."));
}

TEST_CASE("what is no checkpoint of ours is refused, and so are options of other families") {
  Workplace place("uniter_small", 120);
  MutableCheckpoint strange;
  strange.Add("conv1.weight", {3});
  strange.SavePickle(place.options.checkpoint);
  REQUIRE_THAT(place.Refusal(),
               Catch::Contains("no family has tensors like these 1 (conv1.weight") &&
                   Catch::Contains("--family NAME"));
  TorchFileBuilder nothing;
  REQUIRE(WriteFileAtomically(place.options.checkpoint,
                              nothing.Build(pickle::Dict({{"weights", pickle::Dict({})}})))
              .ok());
  REQUIRE(StrContains(place.Refusal(), "the top has weights"));
  TorchFileBuilder object;
  REQUIRE(WriteFileAtomically(place.options.checkpoint, object.Build(pickle::Namespace({}))).ok());
  REQUIRE(StrContains(place.Refusal(), "state_dict()"));

  place.options.checkpoint = GoldenFolder("uniter_small");
  REQUIRE(StrContains(place.Refusal(), "name the one that is meant"));
  place.options.checkpoint = place.dir.path() + "/nowhere";
  REQUIRE(absl::IsNotFound(ConvertCheckpoint(place.options).status()));
  place.options.checkpoint = GoldenFolder("uniter_small") + "/weights.pt";
  place.options.family = "clip";
  REQUIRE(StrContains(place.Refusal(), "lightningdot"));
  place.options.family.clear();
  place.options.scene_text = true;
  REQUIRE(StrContains(place.Refusal(), "--scene-text"));
}

TEST_CASE("a damaged checkpoint gives an error or a model, nothing else") {
  Workplace place("uniter_small", 120);
  const auto sound = ReadFile(GoldenFolder("uniter_small") + "/weights.pt");
  REQUIRE(sound.ok());
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = *sound;
    // The pickle and the directory, where damage matters.
    const size_t at = i % 2 == 0 ? random() % 12'600 : bytes.size() - 1 - random() % 5'000;
    bytes[at] = static_cast<char>(random());
    REQUIRE(WriteFileAtomically(place.options.checkpoint, bytes).ok());
    const auto conversion = ConvertCheckpoint(place.options);
    if (!conversion.ok()) REQUIRE_FALSE(conversion.status().message().empty());
  }
}

}  // namespace
}  // namespace sightline
