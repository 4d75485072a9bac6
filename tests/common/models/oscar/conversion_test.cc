// OSCAR, VinVL and MMT-Retrieval: what is taken from files and options, and told.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/models/convert/convert.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using absl::StrContains;

const std::vector<std::string> kAssumesTags = {
    "nothing tells add_od_labels: the model is assumed to read tags (--tag-tokens 0 if it was "
    "trained without)"};

TEST_CASE("an OSCAR is a cross-encoder with tags, unless another use is asked for") {
  Workplace place("oscar", 150);
  place.options.checkpoint = GoldenFolder("oscar");
  const Conversion cross = place.MustConvert();
  REQUIRE(cross.manifest.cross_encoder().score_kind() == "softmax_match");
  REQUIRE(cross.manifest.cross_encoder().head_hidden_size() == 0);
  REQUIRE_FALSE(cross.manifest.has_embedding());
  REQUIRE(cross.manifest.tags().token_type() == 1);
  REQUIRE(cross.manifest.tokenizer().lowercase());
  REQUIRE(cross.manifest.transformer().region_feature_size() == 70);
  REQUIRE(cross.manifest.transformer().max_region_count() == 50);
  REQUIRE_FALSE(cross.manifest.transformer().region_layer_norm());
  place.options.use = "joint";
  const Conversion joint = place.MustConvert();
  REQUIRE(joint.manifest.embedding().dimension() == 48);
  REQUIRE(joint.manifest.has_cross_encoder());
  place.options.use = "bi-encoder";
  const Conversion encoder = place.MustConvert();
  REQUIRE(Beginning(encoder.tensors, "classifier").empty());
  REQUIRE(Beginning(encoder.tensors, "bert.pooler").empty());
  REQUIRE_FALSE(encoder.manifest.has_cross_encoder());
  place.options.use = "tri-encoder";
  REQUIRE(StrContains(place.Refusal(), "'joint'"));

  place.options.use.clear();
  place.options.checkpoint = GoldenFolder("oscar_ln");
  REQUIRE(place.MustConvert().manifest.transformer().region_layer_norm());
}

TEST_CASE("an OSCAR's head of words comes along, and none of sentences") {
  Workplace place("oscar", 150);
  MutableCheckpoint checkpoint("oscar");
  checkpoint.SavePickle(place.options.checkpoint);
  const size_t own = place.MustConvert().tensors.size();
  checkpoint.Add("cls.predictions.transform.dense.weight", {48, 48});
  checkpoint.Add("cls.predictions.transform.dense.bias", {48});
  checkpoint.Add("cls.predictions.transform.LayerNorm.gamma", {48});
  checkpoint.Add("cls.predictions.transform.LayerNorm.beta", {48});
  checkpoint.Add("cls.predictions.bias", {150});
  checkpoint.Add("cls.predictions.decoder.weight", {150, 48});
  checkpoint.Add("cls.seq_relationship.weight", {2, 48});
  checkpoint.SavePickle(place.options.checkpoint);
  const Conversion whole = place.MustConvert();
  REQUIRE(whole.tensors.size() == own + 5);
  REQUIRE(whole.tensors.count("cls.predictions.transform.LayerNorm.weight") == 1);
}

TEST_CASE("the norm of regions has the epsilon that the config tells of it") {
  Workplace place("oscar_ln", 150);
  MutableCheckpoint("oscar_ln").SavePickle(place.options.checkpoint);
  const auto save = [&](const std::string& numbers) {
    const std::string config = "{\"num_attention_heads\": 4" + numbers + "}";
    REQUIRE(WriteFileAtomically(place.dir.File("config.json"), config).ok());
  };
  save(", \"img_layer_norm_eps\": 1e-12");
  const bundle::v1::TransformerSpec same = place.MustConvert().manifest.transformer();
  REQUIRE(same.layer_norm_epsilon() == 1e-12f);
  REQUIRE(same.region_layer_norm_epsilon() == 0);
  save(", \"img_layer_norm_eps\": 1e-5");
  const bundle::v1::TransformerSpec other = place.MustConvert().manifest.transformer();
  REQUIRE(other.layer_norm_epsilon() == 1e-12f);
  REQUIRE(other.region_layer_norm_epsilon() == 1e-5f);
  save(", \"img_layer_norm_eps\": 0");
  REQUIRE(StrContains(place.Refusal(), "img_layer_norm_eps 0"));
  save(", \"img_layer_norm_eps\": 0.5");
  REQUIRE(StrContains(place.Refusal(), "region_layer_norm_epsilon is 0.5"));
  // A checkpoint without that norm has no use for its epsilon.
  save(", \"img_layer_norm_eps\": 1e-5");
  MutableCheckpoint("oscar").SavePickle(place.options.checkpoint);
  REQUIRE(place.MustConvert().manifest.transformer().region_layer_norm_epsilon() == 0);
}

TEST_CASE("an OSCAR's head may have a hidden layer") {
  Workplace place("oscar", 150);
  MutableCheckpoint checkpoint("oscar");
  checkpoint.Erase("classifier.");
  checkpoint.Add("classifier.0.weight", {96, 48});
  checkpoint.Add("classifier.0.bias", {96});
  checkpoint.Add("classifier.2.weight", {2, 96});
  checkpoint.Add("classifier.2.bias", {2});
  checkpoint.SavePickle(place.options.checkpoint);
  REQUIRE(place.MustConvert().manifest.cross_encoder().head_hidden_size() == 96);
}

TEST_CASE("lengths come from the arguments of the training") {
  Workplace place("oscar", 150);
  MutableCheckpoint("oscar").SavePickle(place.options.checkpoint);
  const auto save = [&](const std::string& mask) {
    TorchFileBuilder file;
    const std::string arguments = pickle::Namespace({{"max_seq_length", pickle::Int(40)},
                                                     {"max_img_seq_length", pickle::Int(30)},
                                                     {"learning_rate", pickle::Int(1)},
                                                     {"att_mask_type", pickle::Text(mask)}});
    REQUIRE(WriteFileAtomically(place.dir.File("training_args.bin"), file.Build(arguments)).ok());
  };
  save("CLR");
  const Conversion conversion = place.MustConvert();
  REQUIRE(conversion.manifest.tokenizer().max_token_count() == 40);
  REQUIRE(conversion.manifest.tags().max_token_count() == 40);
  REQUIRE(conversion.manifest.transformer().max_region_count() == 30);
  REQUIRE(conversion.warnings == kAssumesTags);
  save("CL");
  REQUIRE(StrContains(place.Refusal(), "'CL'"));
}

TEST_CASE("what is assumed of an OSCAR's training is told, with the flags that say otherwise") {
  Workplace place("oscar", 150);
  MutableCheckpoint("oscar").SavePickle(place.options.checkpoint);
  std::vector<std::string> warnings = place.MustConvert().warnings;
  REQUIRE(warnings.size() == 4);
  REQUIRE(StrContains(warnings[0], "att_mask_type: CLR is assumed"));
  REQUIRE(StrContains(warnings[1], "max_seq_length: 64 tokens assumed"));
  REQUIRE(StrContains(warnings[1], "--max-tokens"));
  REQUIRE(StrContains(warnings[2], "50 regions assumed; VinVL has 70 (--regions)"));
  REQUIRE(warnings[3] == kAssumesTags[0]);

  REQUIRE(WriteFileAtomically(place.dir.File("training_args.bin"), "\x80\x02old").ok());
  warnings = place.MustConvert().warnings;
  REQUIRE(warnings.size() == 5);
  REQUIRE(StrContains(warnings[4], "training_args.bin: it is not of the form"));
  REQUIRE(StrContains(warnings[4], "max_seq_length, max_img_seq_length, max_tag_length"));
  REQUIRE(StrContains(warnings[4], "to_safetensors.py"));

  // As to_safetensors.py leaves it.
  REQUIRE(WriteFileAtomically(place.dir.File("config.json"),
                              "{\"num_attention_heads\": 4, \"max_seq_length\": 60, "
                              "\"max_img_seq_length\": 30, \"max_tag_length\": 20, "
                              "\"att_mask_type\": \"CLR\", \"add_od_labels\": true}")
              .ok());
  REQUIRE(place.MustConvert().warnings.empty());
  REQUIRE(place.MustConvert().manifest.tags().max_token_count() == 60);
  REQUIRE(WriteFileAtomically(place.dir.File("config.json"), "{\"num_attention_heads\": 4}").ok());

  place.options.max_token_count = 60;
  place.options.region_count = 70;
  place.options.tag_token_count = 62;
  REQUIRE(place.MustConvert().warnings.size() == 2);  // the mask has no flag
}

TEST_CASE("one number limits an OSCAR's text, and its text with the tags") {
  Workplace place("oscar", 150);
  MutableCheckpoint("oscar").SavePickle(place.options.checkpoint);
  place.options.max_token_count = 35;
  const Conversion conversion = place.MustConvert();
  REQUIRE(conversion.manifest.tokenizer().max_token_count() == 35);
  REQUIRE(conversion.manifest.tags().max_token_count() == 35);
  place.options.tag_token_count = 50;
  REQUIRE(place.MustConvert().manifest.tokenizer().max_token_count() == 35);
  REQUIRE(place.MustConvert().manifest.tags().max_token_count() == 50);
  place.options.tag_token_count = 0;
  REQUIRE_FALSE(place.MustConvert().manifest.has_tags());
  place.options.use = "bi-encoder";
  REQUIRE(place.MustConvert().manifest.has_embedding());
  place.options.tag_token_count = 35;
  REQUIRE(StrContains(place.Refusal(), "--tag-tokens"));
  place.options.tag_token_count.reset();
  place.options.score_kind = "softmax_match";
  REQUIRE(StrContains(place.Refusal(), "--score-kind"));
}

TEST_CASE("an OSCAR that was trained without tags reads none, unless told to") {
  Workplace place("oscar", 150);
  MutableCheckpoint("oscar").SavePickle(place.options.checkpoint);
  const auto tags = [&] { return place.MustConvert().manifest.tags().max_token_count(); };
  const auto save = [&](const std::string& value) {
    TorchFileBuilder file;
    const std::string arguments = pickle::Namespace({{"add_od_labels", value}});
    REQUIRE(WriteFileAtomically(place.dir.File("training_args.bin"), file.Build(arguments)).ok());
  };
  save("\x88");  // True
  REQUIRE(tags() == 64);
  REQUIRE(place.MustConvert().warnings.size() == 3);
  save("\x89");
  REQUIRE_FALSE(place.MustConvert().manifest.has_tags());
  REQUIRE(place.MustConvert().warnings.size() == 3);
  place.options.tag_token_count = 40;
  REQUIRE(tags() == 40);
  place.options.tag_token_count.reset();
  // The config is asked first.
  REQUIRE(WriteFileAtomically(place.dir.File("config.json"),
                              "{\"num_attention_heads\": 4, \"add_od_labels\": true}")
              .ok());
  REQUIRE(tags() == 64);
  REQUIRE(WriteFileAtomically(place.dir.File("config.json"),
                              "{\"num_attention_heads\": 4, \"add_od_labels\": false}")
              .ok());
  save("\x88");
  REQUIRE_FALSE(place.MustConvert().manifest.has_tags());
}

TEST_CASE("a folder of MMT-Retrieval becomes a joint model without tags") {
  Workplace place("oscar", 150);
  MutableCheckpoint trunk("oscar"), head("oscar");
  trunk.Erase("classifier.");
  trunk.Rename([](const std::string& name) { return name.substr(5); });
  head.Erase("bert.");
  REQUIRE(MakeDirectories(place.dir.File("mmt/0_OSCAR")).ok());
  REQUIRE(MakeDirectories(place.dir.File("mmt/1_ClassificationHead")).ok());
  trunk.SavePickle(place.dir.File("mmt/0_OSCAR/pytorch_model.bin"));
  head.SavePickle(place.dir.File("mmt/1_ClassificationHead/class_head.pt"));
  place.options.checkpoint = place.dir.File("mmt");
  place.options.head_count = 4;
  const Conversion conversion = place.MustConvert();
  REQUIRE(conversion.manifest.family() == "oscar");
  REQUIRE(conversion.manifest.has_embedding());
  REQUIRE(conversion.manifest.has_cross_encoder());
  REQUIRE_FALSE(conversion.manifest.has_tags());
  REQUIRE(conversion.tensors.count("bert.img_embedding.weight") == 1);
  REQUIRE(conversion.tensors.count("classifier.weight") == 1);
}

TEST_CASE("a folder of MMT-Retrieval that pools otherwise than by the mean is refused") {
  for (const auto& [golden, words] :
       std::vector<std::pair<std::string, int>>{{"oscar", 150}, {"m3p", 90}}) {
    INFO(golden);
    Workplace place(golden, words);
    const std::string trunk = golden == "m3p" ? "mmt/0_M3P" : "mmt/0_OSCAR";
    REQUIRE(MakeDirectories(place.dir.File(trunk)).ok());
    REQUIRE(MakeDirectories(place.dir.File("mmt/2_Pooling")).ok());
    MutableCheckpoint(golden).SavePickle(place.dir.File(trunk + "/pytorch_model.bin"));
    place.options.checkpoint = place.dir.File("mmt");
    place.options.head_count = 4;
    place.options.use = "joint";
    const auto save = [&](const std::string& config) {
      REQUIRE(WriteFileAtomically(place.dir.File("mmt/2_Pooling/config.json"), config).ok());
    };
    save(
        "{\"word_embedding_dimension\": 48, \"pooling_mode_cls_token\": false, "
        "\"pooling_mode_mean_tokens\": true}");
    REQUIRE(place.MustConvert().manifest.has_embedding());
    save("{\"pooling_mode_cls_token\": true, \"pooling_mode_mean_tokens\": false}");
    REQUIRE(StrContains(place.Refusal(),
                        "2_Pooling/config.json says pooling_mode_mean_tokens false, "
                        "pooling_mode_cls_token;"));
    save("{\"pooling_mode_max_tokens\": true, \"pooling_mode_mean_tokens\": true}");
    REQUIRE(StrContains(place.Refusal(), "says pooling_mode_max_tokens;"));
    place.options.use = "cross-encoder";
    REQUIRE_FALSE(place.MustConvert().manifest.has_embedding());
    save("mean");
    REQUIRE(StrContains(place.Refusal(), "2_Pooling/config.json is not a JSON object"));
  }
}

}  // namespace
}  // namespace sightline
