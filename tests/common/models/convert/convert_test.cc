#include "common/models/convert/convert.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/files.h"
#include "common/models/region_input.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using absl::StrContains;
using bundle::v1::ModelBundleManifest;
using bundle::v1::TokenizerSpec;

std::string Replaced(const std::string& text, absl::string_view from, absl::string_view to) {
  return absl::StrReplaceAll(text, {{from, to}});
}

TEST_CASE("a UNITER becomes a cross-encoder of its trunk and rank_output") {
  Workplace place("uniter_small", 120);
  place.options.checkpoint = GoldenFolder("uniter_small") + "/weights.safetensors";
  const Conversion conversion = place.MustConvert();
  const ModelBundleManifest& manifest = conversion.manifest;
  REQUIRE(manifest.family() == "uniter");
  REQUIRE(manifest.tokenizer().kind() == TokenizerSpec::WORDPIECE);
  REQUIRE_FALSE(manifest.tokenizer().lowercase());
  REQUIRE(manifest.tokenizer().max_token_count() == 64);
  REQUIRE(manifest.transformer().layer_count() == 3);
  REQUIRE(manifest.transformer().hidden_size() == 48);
  REQUIRE(manifest.transformer().head_count() == 4);
  REQUIRE(manifest.transformer().intermediate_size() == 192);
  REQUIRE(manifest.transformer().vocabulary_size() == 120);
  REQUIRE(manifest.transformer().token_type_count() == 2);
  REQUIRE(manifest.transformer().region_feature_size() == 64);
  REQUIRE(manifest.transformer().max_region_count() == 100);
  REQUIRE(manifest.transformer().layer_norm_epsilon() == 1e-12f);
  REQUIRE(manifest.region_rule().confidence_floor() == 0.2f);
  REQUIRE(manifest.region_rule().min_count() == 10);
  REQUIRE_FALSE(manifest.has_embedding());
  REQUIRE(manifest.cross_encoder().score_kind() == "rank_raw");
  REQUIRE(manifest.cross_encoder().combination() == "replace");
  REQUIRE(conversion.warnings.empty());
  REQUIRE(Beginning(conversion.tensors, "rank_output").size() == 2);
  REQUIRE(Beginning(conversion.tensors, "itm_output").empty());
  REQUIRE(conversion.tensors.count("uniter.img_embeddings.mask_embedding.weight") == 0);
  REQUIRE(conversion.tensors.count("uniter.pooler.dense.weight") == 1);
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

TEST_CASE("a UNITER without rank_output takes row 1 of itm_output, and says so") {
  Workplace place("uniter_small", 120);
  MutableCheckpoint checkpoint("uniter_small");
  const TensorView itm = checkpoint.tensors.at("itm_output.weight");
  checkpoint.Erase("rank_output.");
  checkpoint.SavePickle(place.options.checkpoint);
  const Conversion sliced = place.MustConvert();
  REQUIRE(sliced.tensors.at("rank_output.weight").shape == std::vector<int64_t>{1, 48});
  REQUIRE(sliced.tensors.at("rank_output.weight").bytes == itm.bytes.substr(48 * sizeof(float)));
  REQUIRE(sliced.tensors.at("rank_output.bias").shape == std::vector<int64_t>{1});
  REQUIRE(sliced.warnings.size() == 1);
  REQUIRE(StrContains(sliced.warnings[0], "row 1 of itm_output"));

  checkpoint.Add("rank_output.weight", {1, 48});
  checkpoint.Add("rank_output.bias", {1});
  checkpoint.SavePickle(place.options.checkpoint);
  const Conversion both = place.MustConvert();
  REQUIRE(both.warnings.size() == 1);
  REQUIRE(StrContains(both.warnings[0], "differ"));
  REQUIRE(both.tensors.at("rank_output.weight").bytes ==
          checkpoint.tensors.at("rank_output.weight").bytes);

  place.options.score_kind = "softmax_match";
  const Conversion softmax = place.MustConvert();
  REQUIRE(softmax.tensors.at("itm_output.weight").bytes == itm.bytes);
  REQUIRE(Beginning(softmax.tensors, "rank_output").empty());
  place.options.score_kind = "sigmoid";
  REQUIRE(StrContains(place.Refusal(), "rank_raw, softmax_match, logit_match"));
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

TEST_CASE("both layouts of LightningDOT give one bundle") {
  Workplace place("lightningdot", 150);
  place.options.checkpoint = GoldenFolder("lightningdot");
  const Conversion conversion = place.MustConvert();
  const std::string id = place.MustWrite();
  REQUIRE(conversion.manifest.family() == "lightningdot");
  REQUIRE(conversion.manifest.embedding().dimension() == 48);
  REQUIRE(conversion.manifest.embedding().metric() == bundle::v1::EmbeddingSpec::INNER_PRODUCT);
  REQUIRE(conversion.manifest.transformer().projection_hidden_size() == 96);
  REQUIRE_FALSE(conversion.manifest.has_cross_encoder());
  REQUIRE_FALSE(conversion.manifest.has_scene_text());
  REQUIRE(conversion.tensors.count("img_model.bert.pooler.dense.weight") == 0);
  REQUIRE(conversion.tensors.count("txt_model.bert.pooler.dense.weight") == 0);
  REQUIRE(conversion.tensors.count("img_model.bert.img_embeddings.mask_embedding.weight") == 0);
  REQUIRE(conversion.tensors.count("img_model.bert.embeddings.word_embeddings.weight") == 1);

  place.options.checkpoint = place.dir.File("model.pt");
  MutableCheckpoint checkpoint("lightningdot");
  TorchFileBuilder file;
  const std::string finetuned =
      pickle::Dict({{"model_dict", pickle::OrderedDict(checkpoint.Items(&file))},
                    {"optimizer_dict", pickle::Dict({{"state", pickle::Dict({})}})},
                    {"epoch", pickle::Int(14)}});
  REQUIRE(WriteFileAtomically(place.options.checkpoint, file.Build(finetuned)).ok());
  REQUIRE(place.MustWrite() == id);

  checkpoint.Rename([](const std::string& name) { return "bert." + name; });
  checkpoint.Add("cls.predictions.bias", {150});
  checkpoint.Add("region_classifier.net.0.bias", {48});
  checkpoint.SavePickle(place.options.checkpoint);
  REQUIRE(place.MustWrite() == id);
}

TEST_CASE("a LightningDOT may have no projection, and may read scene text") {
  Workplace place("lightningdot", 150);
  MutableCheckpoint checkpoint("lightningdot");
  checkpoint.Erase("img_model.encode_proj.");
  checkpoint.SavePickle(place.options.checkpoint);
  REQUIRE(StrContains(place.Refusal(), "missing: img_model.encode_proj.0.bias"));
  checkpoint.Erase("txt_model.encode_proj.");
  checkpoint.SavePickle(place.options.checkpoint);
  const Conversion plain = place.MustConvert();
  REQUIRE(plain.manifest.transformer().projection_hidden_size() == 0);
  REQUIRE(plain.manifest.embedding().dimension() == 48);

  place.options.checkpoint = GoldenFolder("lightningdot_scene_text");
  place.options.scene_text = true;
  const Conversion scene = place.MustConvert();
  REQUIRE(scene.manifest.scene_text().max_token_count() == 62);  // of 64 positions
  REQUIRE(scene.manifest.scene_text().first_position() == 1);
  REQUIRE_FALSE(scene.manifest.scene_text().separator_when_empty());
}

TEST_CASE("how the text in pictures is read can be told") {
  Workplace place("lightningdot_scene_text", 150);
  place.options.checkpoint = GoldenFolder("lightningdot_scene_text");
  place.options.scene_text = true;
  place.options.scene_position = 30;
  const Conversion later = place.MustConvert();
  REQUIRE(later.manifest.scene_text().first_position() == 30);
  REQUIRE(later.manifest.scene_text().max_token_count() == 33);
  place.options.scene_token_count = 20;
  place.options.scene_token_type = 1;
  place.options.lone_separator = true;
  const Conversion told = place.MustConvert();
  REQUIRE(told.manifest.scene_text().max_token_count() == 20);
  REQUIRE(told.manifest.scene_text().token_type() == 1);
  REQUIRE(told.manifest.scene_text().separator_when_empty());
  for (const char* flag : {"--ocr-tokens", "--ocr-position", "--ocr-type", "--lone-separator"}) {
    Workplace without("lightningdot_scene_text", 150);
    without.options.checkpoint = place.options.checkpoint;
    const std::string name = flag;
    if (name == "--ocr-tokens") without.options.scene_token_count = 20;
    if (name == "--ocr-position") without.options.scene_position = 1;
    if (name == "--ocr-type") without.options.scene_token_type = 0;
    if (name == "--lone-separator") without.options.lone_separator = true;
    REQUIRE(StrContains(without.Refusal(), name + " without --scene-text"));
  }
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

TEST_CASE("an M3P's blocks get BERT's names") {
  Workplace place("m3p", 90);
  place.options.checkpoint = GoldenFolder("m3p");
  const Conversion conversion = place.MustConvert();
  const std::string id = place.MustWrite();
  REQUIRE(conversion.manifest.family() == "m3p");
  REQUIRE(conversion.manifest.tokenizer().kind() == TokenizerSpec::SENTENCEPIECE);
  REQUIRE(conversion.manifest.tokenizer().max_token_count() == 130);
  REQUIRE(conversion.manifest.transformer().token_type_count() == 1);
  REQUIRE(conversion.manifest.transformer().layer_count() == 2);
  REQUIRE(conversion.manifest.transformer().intermediate_size() == 128);
  REQUIRE(conversion.manifest.transformer().max_region_count() == 50);
  REQUIRE(conversion.manifest.has_embedding());
  REQUIRE(conversion.manifest.has_cross_encoder());
  const MutableCheckpoint source("m3p");
  for (const auto& [xlm, bert] : std::vector<std::pair<std::string, std::string>>{
           {"attentions.1.q_lin.weight", "encoder.layer.1.attention.self.query.weight"},
           {"attentions.1.k_lin.bias", "encoder.layer.1.attention.self.key.bias"},
           {"attentions.0.v_lin.weight", "encoder.layer.0.attention.self.value.weight"},
           {"attentions.0.out_lin.weight", "encoder.layer.0.attention.output.dense.weight"},
           {"layer_norm1.0.bias", "encoder.layer.0.attention.output.LayerNorm.bias"},
           {"ffns.1.lin1.weight", "encoder.layer.1.intermediate.dense.weight"},
           {"ffns.1.lin2.weight", "encoder.layer.1.output.dense.weight"},
           {"layer_norm2.1.weight", "encoder.layer.1.output.LayerNorm.weight"},
           {"embeddings.weight", "embeddings.weight"},
       }) {
    INFO(xlm);
    REQUIRE(conversion.tensors.at(bert).bytes == source.tensors.at(xlm).bytes);
  }
  REQUIRE(Beginning(conversion.tensors, "image_embeddings.image_distbution").empty());

  MutableCheckpoint wrapped("m3p");
  wrapped.Rename([](const std::string& name) { return "module." + name; });
  wrapped.Add("module.refine_embeddings.weight", {2});
  TorchFileBuilder file;
  const std::string root = pickle::Dict({{"model", pickle::Dict(wrapped.Items(&file))}});
  place.options.checkpoint = place.dir.File("model.pt");
  REQUIRE(WriteFileAtomically(place.options.checkpoint, file.Build(root)).ok());
  REQUIRE(place.MustWrite() == id);

  place.options.use = "bi-encoder";
  const Conversion encoder = place.MustConvert();
  REQUIRE(Beginning(encoder.tensors, "pooled_layer").empty());
  REQUIRE_FALSE(encoder.manifest.has_cross_encoder());
}

TEST_CASE("SGRAF's list of three dicts is what the golden folders hold flat") {
  for (const std::string name : {"saf", "sgr", "saf_temde", "sgr_temde"}) {
    INFO(name);
    Workplace place(name, 60);
    place.options.checkpoint = GoldenFolder(name);
    const Conversion conversion = place.MustConvert();
    const std::string id = place.MustWrite();
    const bundle::v1::SgrafSpec& spec = conversion.manifest.sgraf();
    REQUIRE(spec.module() == (absl::StartsWith(name, "saf") ? bundle::v1::SgrafSpec::SAF
                                                            : bundle::v1::SgrafSpec::SGR));
    REQUIRE(spec.vocabulary_size() == 60);
    REQUIRE(spec.word_size() == 20);
    REQUIRE(spec.embedding_size() == 32);
    REQUIRE(spec.similarity_size() == 16);
    REQUIRE(spec.region_feature_size() == 40);
    REQUIRE(spec.region_count() == 36);
    REQUIRE(spec.step_count() == (absl::StartsWith(name, "saf") ? 0 : 3));
    REQUIRE(spec.has_emde() == absl::EndsWith(name, "temde"));
    if (spec.has_emde()) {
      REQUIRE(spec.emde().partition_count() == 4);
      REQUIRE(spec.emde().cell_count() == 8);
      REQUIRE(spec.emde().cell_size() == 8);
    }
    REQUIRE(conversion.manifest.cross_encoder().score_kind() == "sigmoid");
    REQUIRE(conversion.manifest.tokenizer().kind() == TokenizerSpec::WORD_LIST);
    for (const auto& [tensor, view] : conversion.tensors) {
      REQUIRE_FALSE(absl::EndsWith(tensor, "num_batches_tracked"));
    }

    const MutableCheckpoint checkpoint(name);
    TorchFileBuilder file;
    std::vector<std::string> parts;
    for (const char* prefix : {"img_enc.", "txt_enc.", "sim_enc."}) {
      parts.push_back(pickle::OrderedDict(checkpoint.Items(&file, prefix)));
    }
    const std::string root = pickle::Dict({{"epoch", pickle::Int(1)},
                                           {"model", pickle::List(parts)},
                                           {"opt", pickle::Namespace({{"k", "N"}})}});
    place.options.checkpoint = place.dir.File("model.pt");
    REQUIRE(WriteFileAtomically(place.options.checkpoint, file.Build(root)).ok());
    REQUIRE(place.MustWrite() == id);
  }
}

TEST_CASE("a T-EMDE's cells are told, or the paper's") {
  Workplace place("saf", 60);  // its config tells none
  MutableCheckpoint("saf_temde").SavePickle(place.options.checkpoint);
  const Conversion usual = place.MustConvert();
  REQUIRE(usual.manifest.sgraf().emde().cell_count() == 8);
  REQUIRE(StrContains(usual.warnings[0], "--cells"));
  place.options.cell_count = 16;
  REQUIRE(place.MustConvert().manifest.sgraf().emde().partition_count() == 2);
  place.options.cell_count = 7;
  REQUIRE(StrContains(place.Refusal(), "7 cells"));
}

TEST_CASE("a T-EMDE's temperature may be a scalar") {
  Workplace place("saf_temde", 60);
  MutableCheckpoint checkpoint("saf_temde");
  checkpoint.SavePickle(place.options.checkpoint);
  const std::string id = place.MustWrite();
  for (const char* side : {"t", "v"}) {
    checkpoint.tensors.at(absl::StrCat("sim_enc.", side, "_emde.coder.temp")).shape.clear();
  }
  checkpoint.SavePickle(place.options.checkpoint);
  REQUIRE(place.MustWrite() == id);
  checkpoint.Add("sim_enc.t_emde.coder.temp", {2});
  checkpoint.SavePickle(place.options.checkpoint);
  REQUIRE(StrContains(place.Refusal(), "sim_enc.t_emde.coder.temp [2] instead of [1]"));
}

TEST_CASE("statistics of batch norms must be there") {
  Workplace place("saf", 60);
  MutableCheckpoint checkpoint("saf");
  checkpoint.Erase("sim_enc.SAF_module.bn.running_mean");
  checkpoint.SavePickle(place.options.checkpoint);
  REQUIRE(StrContains(place.Refusal(), "missing: sim_enc.SAF_module.bn.running_mean [1]"));
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
