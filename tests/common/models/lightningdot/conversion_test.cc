// LightningDOT: what its checkpoints become.
#include <string>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/models/convert/convert.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using absl::StrContains;

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
  checkpoint.Add("itm_output.bias", {2});
  checkpoint.SavePickle(place.options.checkpoint);
  REQUIRE(place.MustWrite() == id);
}

TEST_CASE("a pre-trained LightningDOT's heads come along, whole ones") {
  Workplace place("lightningdot", 150);
  MutableCheckpoint checkpoint("lightningdot");
  checkpoint.Rename([](const std::string& name) { return "bert." + name; });
  const TensorView table =
      checkpoint.tensors.at("bert.img_model.bert.img_embeddings.mask_embedding.weight");
  checkpoint.SavePickle(place.options.checkpoint);
  const std::string id = place.MustWrite();
  checkpoint.Add("cls.predictions.bias", {150});
  for (const char* part : {"net.0.bias", "net.2.weight", "net.2.bias"}) {
    checkpoint.Add(std::string("region_classifier.") + part, {48});
  }
  checkpoint.Add("region_classifier.net.0.weight", {48, 48});
  checkpoint.Add("region_classifier.net.3.weight", {1601, 48});
  checkpoint.SavePickle(place.options.checkpoint);
  REQUIRE(place.MustWrite() == id);
  checkpoint.Add("region_classifier.net.3.bias", {1601});
  checkpoint.SavePickle(place.options.checkpoint);
  const Conversion whole = place.MustConvert();
  REQUIRE(Beginning(whole.tensors, "region_classifier.").size() == 6);
  REQUIRE(Beginning(whole.tensors, "cls.").empty());
  REQUIRE(whole.tensors.at("mask_embedding.weight").bytes ==
          table.bytes.substr(table.bytes.size() / 2));
  REQUIRE(whole.warnings.size() == 1);
  REQUIRE(place.MustWrite() != id);
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

}  // namespace
}  // namespace sightline
