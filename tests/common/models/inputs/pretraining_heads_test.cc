#include "common/models/inputs/pretraining_heads.h"

#include <map>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Tensors = std::map<std::string, TensorView>;
using Names = std::vector<std::string>;

bundle::v1::TransformerSpec Spec() {
  bundle::v1::TransformerSpec spec;
  spec.set_hidden_size(4);
  spec.set_vocabulary_size(9);
  spec.set_region_feature_size(6);
  return spec;
}

TensorView Of(const std::vector<int64_t>& shape) {
  return {TensorDtype::kF32, shape, {}};
}

// All heads, as a checkpoint has them, tied tables too.
Tensors All() {
  return {{"cls.predictions.transform.dense.weight", Of({4, 4})},
          {"cls.predictions.transform.dense.bias", Of({4})},
          {"cls.predictions.transform.LayerNorm.weight", Of({4})},
          {"cls.predictions.transform.LayerNorm.bias", Of({4})},
          {"cls.predictions.bias", Of({9})},
          {"cls.predictions.decoder.weight", Of({9, 4})},
          {"cls.seq_relationship.weight", Of({2, 4})},
          {"feat_regress.net.0.weight", Of({4, 4})},
          {"feat_regress.net.0.bias", Of({4})},
          {"feat_regress.net.2.weight", Of({4})},
          {"feat_regress.net.2.bias", Of({4})},
          {"feat_regress.bias", Of({6})},
          {"feat_regress.weight", Of({4, 6})},
          {"region_classifier.net.0.weight", Of({4, 4})},
          {"region_classifier.net.0.bias", Of({4})},
          {"region_classifier.net.2.weight", Of({4})},
          {"region_classifier.net.2.bias", Of({4})},
          {"region_classifier.net.3.weight", Of({5, 4})},
          {"region_classifier.net.3.bias", Of({5})},
          {"mask_embedding.weight", Of({1, 6})},
          {"bert.embeddings.word_embeddings.weight", Of({9, 4})}};
}

Names Found(const Tensors& tensors, const std::string& head = "") {
  Names names;
  for (const auto& item : FindPretrainingHeads(tensors, Spec()).tensors) {
    if (item.first.rfind(head, 0) == 0) names.push_back(item.first);
  }
  return names;
}

TEST_CASE("whole heads are found, without the tables that they share with the model") {
  const FoundHeads found = FindPretrainingHeads(All(), Spec());
  REQUIRE(found.torn.empty());
  REQUIRE(found.tensors.size() == 5 + 5 + 6 + 1);
  for (const auto& [name, tensor] : found.tensors) {
    INFO(name);
    REQUIRE(IsOfPretrainingHead(name));
    REQUIRE(All().at(name).shape == tensor.shape);
  }
  REQUIRE(found.tensors.count("cls.predictions.decoder.weight") == 0);
  REQUIRE(found.tensors.count("feat_regress.weight") == 0);
  REQUIRE(found.tensors.count("cls.seq_relationship.weight") == 0);
  REQUIRE_FALSE(IsOfPretrainingHead("bert.embeddings.word_embeddings.weight"));
  REQUIRE(FindPretrainingHeads({}, Spec()).torn.empty());
  REQUIRE(HoldsPretrainingHeads("uniter"));
  REQUIRE_FALSE(HoldsPretrainingHeads("vldeformer"));
}

TEST_CASE("a head of which a part is missing, of integers or of another shape is torn") {
  const std::vector<std::string> parts = {"cls.predictions.bias", "feat_regress.net.2.weight",
                                          "region_classifier.net.3.weight"};
  for (const std::string& part : parts) {
    const std::string head = part.substr(0, part.find('.') + 1);
    Tensors missing = All(), integers = All(), wider = All();
    missing.erase(part);
    integers[part].dtype = TensorDtype::kI64;
    wider[part].shape.back() += 1;
    for (const Tensors& tensors : {missing, integers, wider}) {
      INFO(part);
      REQUIRE(FindPretrainingHeads(tensors, Spec()).torn == Names{head});
      REQUIRE(Found(tensors, head).empty());
      REQUIRE(Found(tensors).size() > 10);
    }
  }
}

TEST_CASE("what a hidden region shows comes with a head of regions") {
  const Names mask = {"mask_embedding.weight"};
  Tensors tensors = All();
  tensors.erase("feat_regress.bias");
  REQUIRE(Found(tensors, "mask_embedding.") == mask);
  tensors.erase("region_classifier.net.0.bias");
  REQUIRE(Found(tensors, "mask_embedding.").empty());
  REQUIRE(Found({{mask[0], Of({1, 6})}}).empty());
  REQUIRE(FindPretrainingHeads({{mask[0], Of({1, 6})}}, Spec()).torn.empty());
  tensors = All();
  tensors[mask[0]].shape = {2, 6};
  REQUIRE(FindPretrainingHeads(tensors, Spec()).torn == Names{"mask_embedding."});
}

TEST_CASE("of a checkpoint's table of what regions show, row 1 is what a hidden one does") {
  const std::string bytes = std::string(6 * sizeof(float), 'a') + std::string(24, 'b');
  Tensors tensors = All();
  tensors.erase("mask_embedding.weight");
  TensorView& table = tensors["uniter.img_embeddings.mask_embedding.weight"];
  table = {TensorDtype::kF32, {2, 6}, bytes};
  const FoundHeads found = FindPretrainingHeads(tensors, Spec());
  REQUIRE(found.tensors.at("mask_embedding.weight").shape == std::vector<int64_t>{1, 6});
  REQUIRE(found.tensors.at("mask_embedding.weight").bytes == std::string(24, 'b'));
  REQUIRE(found.tensors.size() == 5 + 5 + 6 + 1);
  table.shape = {3, 6};
  REQUIRE(FindPretrainingHeads(tensors, Spec()).tensors.size() == 5 + 5 + 6);
}

}  // namespace
}  // namespace sightline
