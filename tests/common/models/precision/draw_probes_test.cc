#include "common/models/precision/draw_probes.h"

#include <memory>
#include <string>
#include <vector>

#include "common/bundle/model_probes.h"
#include "tests/support/catch.h"
#include "tests/support/fake_model.h"

namespace sightline {
namespace {

using bundle::v1::ModelProbes;

constexpr int kItems = 24;

ModelProbes Drawn(const Model& model) {
  const auto probes = DrawProbes(model, CallContext::Unbounded());
  REQUIRE(probes.status() == absl::OkStatus());
  CHECK(probes->texts_size() == 24);
  CHECK(probes->items_size() == kItems);
  return *probes;
}

std::vector<std::string> TextsOf(const ModelProbes& probes) {
  std::vector<std::string> texts;
  for (const auto& text : probes.texts()) texts.push_back(text.text());
  return texts;
}

TEST_CASE("probes are the same each time, and their texts for every model") {
  const FakeServingModel model;
  const ModelProbes probes = Drawn(model);
  CHECK(CheckProbes(probes) == absl::OkStatus());
  CHECK(SerializeProbes(Drawn(model)) == SerializeProbes(probes));
  FakeServingModelOptions parts;
  parts.images = false;
  parts.pictures = false;
  parts.tint = 0xff;
  CHECK(TextsOf(Drawn(FakeServingModel(parts))) == TextsOf(probes));
}

TEST_CASE("a model is shown pictures where it finds regions in them, else regions") {
  FakeServingModelOptions parts;
  parts.pictures = GENERATE(true, false);
  const FakeServingModel model(parts);
  const ModelProbes probes = Drawn(model);
  CHECK(model.extracted_widths().empty() != parts.pictures);
  CHECK(model.image_batches() == std::vector<int>{kItems});
  for (const auto& item : probes.items()) {
    CHECK(item.embedding_size() == FakeServingModel::kDimension);
    // A picture is one word to this model.
    REQUIRE(FeaturesOf(item).Find("regions") != nullptr);
    CHECK((FeaturesOf(item).Find("regions")->rows == 1) == parts.pictures);
  }
}

TEST_CASE("an encoder without images has texts for items") {
  FakeServingModelOptions parts;
  parts.images = false;
  parts.pairs = false;
  const FakeServingModel model(parts);
  const ModelProbes probes = Drawn(model);
  CHECK(model.text_batches() == std::vector<int>{kItems});
  CHECK(model.extracted_widths().empty());
  for (const auto& item : probes.items()) {
    CHECK(item.embedding_size() == FakeServingModel::kDimension);
    CHECK(FeaturesOf(item).tensors.empty());
  }
}

TEST_CASE("a cross-encoder alone has items without embeddings") {
  FakeServingModelOptions parts;
  parts.texts = false;
  parts.images = false;
  const ModelProbes probes = Drawn(FakeServingModel(parts));
  for (const auto& item : probes.items()) {
    CHECK(item.embedding_size() == 0);
    CHECK_FALSE(FeaturesOf(item).tensors.empty());
  }
}

// Takes no regions either.
class Blind : public FakeServingModel {
 public:
  using FakeServingModel::FakeServingModel;
  std::vector<int> region_feature_sizes() const override { return {}; }
};

TEST_CASE("nothing can be drawn for a model that takes neither pictures nor regions") {
  FakeServingModelOptions parts;
  parts.pictures = false;
  const auto probes = DrawProbes(Blind(parts), CallContext::Unbounded());
  CHECK(absl::IsFailedPrecondition(probes.status()));
}

}  // namespace
}  // namespace sightline
