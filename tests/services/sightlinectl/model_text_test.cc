#include "services/sightlinectl/model_text.h"

#include <google/protobuf/text_format.h>

#include <map>
#include <string>

#include "tests/support/catch.h"

namespace sightline {
namespace {

std::map<std::string, std::string> Told(const std::string& text) {
  bundle::v1::ModelBundleManifest manifest;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &manifest));
  std::map<std::string, std::string> lines;
  for (const auto& [name, value] : ModelLines(manifest)) {
    REQUIRE(lines.emplace(name, value).second);
  }
  return lines;
}

using Lines = std::map<std::string, std::string>;

TEST_CASE("parts that are not there are not told") {
  REQUIRE(Told("family: 'oscar'") == Lines{{"family", "oscar"}});
}

TEST_CASE("a transformer's extras are told where it has them") {
  const std::string sizes =
      "layer_count: 2 hidden_size: 48 head_count: 4 intermediate_size: 192 vocabulary_size: 150 "
      "max_region_count: 50 region_feature_size: 70 ";
  const std::string plain =
      "2 layers, width 48, 4 heads, feed-forward 192, 150 words, 50 regions of 70";
  REQUIRE(Told("transformer { " + sizes + "}")["transformer"] == plain);
  REQUIRE(Told("transformer { " + sizes + "region_layer_norm: true }")["transformer"] ==
          plain + ", normalised");
  REQUIRE(Told("transformer { " + sizes +
               "region_layer_norm: true region_layer_norm_epsilon: 1e-5 }")["transformer"] ==
          plain + ", normalised with epsilon 1e-05");
  REQUIRE(Told("transformer { " + sizes + "projection_hidden_size: 96 }")["transformer"] ==
          plain + ", projected through 96");
}

TEST_CASE("an embedding of the first row is told as one") {
  REQUIRE(Told("embedding { dimension: 8 metric: COSINE }")["embedding"] == "8 numbers, cosine");
  REQUIRE(Told("embedding { dimension: 8 metric: COSINE rows: FIRST_ROW }")["embedding"] ==
          "8 numbers, cosine, of the first row");
}

TEST_CASE("what is read of an image is told") {
  Lines told = Told(
      "region_rule { confidence_floor: 0.2 min_count: 10 } "
      "scene_text { max_token_count: 64 first_position: 1 } "
      "tags { max_token_count: 35 token_type: 1 } "
      "fixed_lengths { text_length: 35 tag_length: 30 region_count: 70 }");
  REQUIRE(told["regions"] == "those of confidence above 0.2, at least 10");
  REQUIRE(told["scene text"] ==
          "up to 64 wordpieces, positions from 1, segment 0, no separator without text");
  REQUIRE(told["tags"] == "up to 35 tokens, segment 1");
  REQUIRE(told["fixed lengths"] ==
          "texts of 35 tokens, tags of 30 tokens padded in segment 0, 70 regions");
  REQUIRE(Told("scene_text { separator_when_empty: true }")["scene text"] ==
          "up to 0 wordpieces, positions from 0, segment 0, a lone separator without text");
}

TEST_CASE("an SGRAF is told with its module and T-EMDE") {
  const std::string sizes =
      "vocabulary_size: 60 word_size: 20 embedding_size: 32 similarity_size: 16 "
      "region_feature_size: 40 region_count: 36 ";
  REQUIRE(Told("sgraf { module: SGR step_count: 3 " + sizes + "}")["sgraf"] ==
          "SGR of 3 steps, width 32, alignments of 16, 60 words of 20, 36 regions of 40");
  REQUIRE(Told("sgraf { module: SAF " + sizes +
               "emde { partition_count: 4 cell_count: 8 cell_size: 2 } }")["sgraf"] ==
          "SAF, width 32, alignments of 16, 60 words of 20, 36 regions of 40, T-EMDE 4 x 8 cells "
          "of 2");
  REQUIRE(Told("sgraf { module: SAF " + sizes + "without_global_node: true }")["sgraf"] ==
          "SAF, width 32, alignments of 16, 60 words of 20, 36 regions of 40, no global node");
}

TEST_CASE("scripted modules are told by their files") {
  REQUIRE(Told("torch_script { text_encoder: 'text.pt' region_extractor: 'pixels.pt' "
               "vocabulary_size: 7 region_feature_size: 5 max_region_count: 3 "
               "region_class_count: 9 pixels { image_size: 224 fit: CROP filter: BICUBIC } }") ==
          Lines{{"family", ""},
                {"text module", "text.pt"},
                {"region module", "pixels.pt"},
                {"pixels", "224 x 224, crop, bicubic"},
                {"inputs", "7 words, 3 regions of 5"},
                {"soft labels", "9 classes a region"}});
}

TEST_CASE("a cross-encoder that differs by direction is told for each") {
  const std::string common =
      "cross_encoder { score_kind: 'rank_raw' combination: 'add_lambda' combination_lambda: 0.75 ";
  REQUIRE(Told(common + "image_to_text { combination: 'none' } }") ==
          Lines{{"family", ""},
                {"cross-encoder", "rank_raw"},
                {"text to image", "combined by add_lambda:0.75"},
                {"image to text", "none; combined by add_lambda:0.75 if a request asks"}});
  const std::string other = "{ combination: 'norm_add_lambda' combination_lambda: 0.5 } ";
  REQUIRE(Told(common + "text_to_image " + other + "image_to_text { combination: 'replace' } }") ==
          Lines{{"family", ""},
                {"cross-encoder", "rank_raw"},
                {"text to image", "combined by norm_add_lambda:0.5"},
                {"image to text", "combined by replace"}});
}

TEST_CASE("an ensemble's members are told one after another") {
  REQUIRE(Told("family: 'ensemble' "
               "members { family: 'sgraf' cross_encoder { score_kind: 'sigmoid' "
               "combination: 'replace' } } "
               "members { family: 'oscar' cross_encoder { score_kind: 'softmax_match' "
               "combination: 'add_lambda' combination_lambda: 0.5 head_hidden_size: 96 } }") ==
          Lines{{"family", "ensemble"},
                {"member 0 family", "sgraf"},
                {"member 0 cross-encoder", "sigmoid, combined by replace"},
                {"member 1 family", "oscar"},
                {"member 1 cross-encoder",
                 "softmax_match, combined by add_lambda:0.5, head of width 96"}});
}

}  // namespace
}  // namespace sightline
