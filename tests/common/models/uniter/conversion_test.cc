// UNITER: what its checkpoints become.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/models/convert/convert.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using absl::StrContains;
using bundle::v1::ModelBundleManifest;
using bundle::v1::TokenizerSpec;

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

// Heads of pre-training for a width of 48 and features of 64 numbers.
void AddHeads(MutableCheckpoint* checkpoint) {
  checkpoint->Add("cls.predictions.transform.dense.weight", {48, 48});
  for (const char* part :
       {"cls.predictions.transform.dense.bias", "cls.predictions.transform.LayerNorm.weight",
        "cls.predictions.transform.LayerNorm.bias", "feat_regress.net.0.bias",
        "feat_regress.net.2.weight", "feat_regress.net.2.bias"}) {
    checkpoint->Add(part, {48});
  }
  checkpoint->Add("cls.predictions.bias", {120});
  checkpoint->Add("cls.predictions.decoder.weight", {120, 48});
  checkpoint->Add("feat_regress.net.0.weight", {48, 48});
  checkpoint->Add("feat_regress.bias", {64});
  checkpoint->Add("feat_regress.weight", {48, 64});
}

TEST_CASE("a UNITER's heads of pre-training come along, and what a hidden region shows") {
  Workplace place("uniter_small", 120);
  MutableCheckpoint checkpoint("uniter_small");
  const std::string mask = "uniter.img_embeddings.mask_embedding.weight";
  const TensorView table = checkpoint.tensors.at(mask);
  checkpoint.SavePickle(place.options.checkpoint);
  const Conversion finetuned = place.MustConvert();
  REQUIRE(Beginning(finetuned.tensors, "mask_embedding").empty());
  const std::string id = place.MustWrite();

  AddHeads(&checkpoint);
  checkpoint.SavePickle(place.options.checkpoint);
  const Conversion pretrained = place.MustConvert();
  REQUIRE(pretrained.warnings.empty());
  REQUIRE(pretrained.tensors.size() == finetuned.tensors.size() + 5 + 5 + 1);
  REQUIRE(Beginning(pretrained.tensors, "cls.").size() == 5);
  REQUIRE(Beginning(pretrained.tensors, "feat_regress.").size() == 5);
  REQUIRE(pretrained.tensors.at("mask_embedding.weight").shape == std::vector<int64_t>{1, 64});
  REQUIRE(pretrained.tensors.at("mask_embedding.weight").bytes ==
          table.bytes.substr(64 * sizeof(float)));
  REQUIRE(pretrained.manifest.SerializeAsString() == finetuned.manifest.SerializeAsString());
  REQUIRE(place.MustWrite() != id);

  // What is not whole is left out, and said.
  checkpoint.Erase("feat_regress.bias");
  checkpoint.Add("cls.predictions.bias", {121});
  checkpoint.SavePickle(place.options.checkpoint);
  const Conversion torn = place.MustConvert();
  REQUIRE(torn.tensors.size() == finetuned.tensors.size());
  REQUIRE(torn.warnings.size() == 1);
  REQUIRE(StrContains(torn.warnings[0], "left out: cls., feat_regress."));
  REQUIRE(place.MustWrite() == id);
}

TEST_CASE("a UNITER of ours, whose weights have heads by their own names, is read again") {
  Workplace place("uniter_small", 120);
  MutableCheckpoint checkpoint("uniter_small");
  AddHeads(&checkpoint);
  checkpoint.SavePickle(place.options.checkpoint);
  const std::string id = place.MustWrite();
  place.options.checkpoint = place.dir.File("models/" + id + "/weights.safetensors");
  place.options.config = place.dir.File("config.json");
  REQUIRE(place.MustWrite() == id);
}

}  // namespace
}  // namespace sightline
