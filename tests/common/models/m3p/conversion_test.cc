// M3P: what its checkpoints become.
#include <string>
#include <utility>
#include <vector>

#include "common/base/files.h"
#include "common/models/convert/convert.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using bundle::v1::TokenizerSpec;

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

}  // namespace
}  // namespace sightline
