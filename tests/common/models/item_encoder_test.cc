#include "common/models/item_encoder.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/fake_model.h"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();

PictureToEncode Regions(const WordIds& ids, std::vector<const Model*> rerankers = {}) {
  return {ImageOf(ids), {}, std::move(rerankers)};
}

// As `encoder` and each of `rerankers` see a picture of this colour.
PictureToEncode Picture(int32_t colour, const Model& encoder, std::vector<const Model*> rerankers) {
  PictureToEncode picture;
  for (const RegionExtractor* extractor : PictureExtractors(encoder, rerankers)) {
    picture.pixels.push_back(
        extractor == nullptr ? nullptr : std::make_shared<const Pixels>(PictureOf(colour, 2, 1)));
  }
  picture.rerankers = std::move(rerankers);
  return picture;
}

std::vector<absl::StatusOr<EmbeddedItem>> Encode(const Model& encoder,
                                                 std::vector<PictureToEncode> pictures) {
  return EncodePictures(encoder, std::move(pictures), kCall);
}

std::string BytesOf(const ItemFeatures& features) {
  return features.tensors.at(0).bytes;
}
std::string BytesOf(const WordIds& ids) {
  return BytesOf(ImageFeaturesOf(ids));
}

FakeServingModel Tinted(int32_t tint) {
  FakeServingModelOptions options;
  options.id = std::string(64, 'b');
  options.tint = tint;
  return FakeServingModel(options);
}

TEST_CASE("nothing is made of nothing") {
  const FakeServingModel model;
  REQUIRE(Encode(model, {}).empty());
  REQUIRE(EncodeTexts(model, {}, kCall).empty());
  REQUIRE(model.image_batches().empty());
  REQUIRE(model.text_batches().empty());
}

TEST_CASE("who finds regions: the encoder, and rerankers that are another and can") {
  FakeServingModelOptions blind;
  blind.pictures = false;
  const FakeServingModel encoder, other, sightless(blind);
  const auto extractors = PictureExtractors(encoder, {&other, &encoder, &sightless});
  REQUIRE(extractors == std::vector<const RegionExtractor*>{encoder.region_extractor(),
                                                            other.region_extractor(), nullptr,
                                                            nullptr});
}

TEST_CASE("regions that are there are encoded and prepared as they are, pictures beside them") {
  const FakeServingModel model;
  const auto made = Encode(model, {Regions({1, 2}, {&model}), Picture(3, model, {&model})});
  REQUIRE(made[0]->embedding == EmbeddingOf({1, 2}));
  REQUIRE(BytesOf(made[0]->features[0]) == BytesOf(WordIds{1, 2}));
  REQUIRE(made[1]->embedding == EmbeddingOf({3}));
  REQUIRE(BytesOf(made[1]->features[0]) == BytesOf(WordIds{3}));
  REQUIRE(model.image_batches() == std::vector<int>{2});
}

TEST_CASE("each reranker reads what it has found itself, or else what the encoder has") {
  FakeServingModelOptions blind;
  blind.id = std::string(64, 'c');
  blind.pictures = false;
  const FakeServingModel encoder, sightless(blind);
  const FakeServingModel tinted = Tinted(0xf0);
  // The one in the middle looks for itself; those around it must not read what it has found.
  for (const auto& rerankers : {std::vector<const Model*>{&encoder, &tinted, &sightless},
                                {&tinted, &encoder, &sightless}}) {
    const auto made = Encode(encoder, {Picture(5, encoder, rerankers)});
    REQUIRE(made[0]->embedding == EmbeddingOf({5}));
    for (size_t i = 0; i < rerankers.size(); ++i) {
      const int32_t seen = rerankers[i] == &tinted ? 5 ^ 0xf0 : 5;
      REQUIRE(BytesOf(made[0]->features[i]) == BytesOf(WordIds{seen}));
    }
  }
}

TEST_CASE("strangers with other rerankers, or with none, share a batch") {
  const FakeServingModel encoder;
  const FakeServingModel tinted = Tinted(0xf);
  const auto made = Encode(encoder, {Picture(1, encoder, {&tinted}), Picture(2, encoder, {}),
                                     Picture(3, encoder, {&encoder}), Regions({4}, {&tinted})});
  REQUIRE(encoder.image_batches() == std::vector<int>{4});
  REQUIRE(BytesOf(made[0]->features.at(0)) == BytesOf(WordIds{1 ^ 0xf}));
  REQUIRE(made[1]->features.empty());
  REQUIRE(BytesOf(made[2]->features.at(0)) == BytesOf(WordIds{3}));
  REQUIRE(BytesOf(made[3]->features.at(0)) == BytesOf(WordIds{4}));
}

TEST_CASE("a picture that cannot be looked at, encoded or prepared is refused alone") {
  const FakeServingModel model;
  PictureToEncode empty = Picture(6, model, {&model});
  empty.pixels[0] = std::make_shared<const Pixels>();
  PictureToEncode nothing;
  nothing.rerankers = {&model};
  PictureToEncode unseen = Picture(7, model, {});
  const FakeServingModel tinted = Tinted(1);
  unseen.rerankers = {&tinted};
  unseen.pixels.push_back(std::make_shared<const Pixels>());
  const auto made = Encode(model, {empty, Regions({1}, {&model}), nothing,
                                   Regions({IdsOf(kPoison)[0]}, {&model}), unseen});
  REQUIRE(made[0].status() == absl::InvalidArgumentError("an image without pixels"));
  REQUIRE(made[1]->embedding == EmbeddingOf({1}));
  REQUIRE(BytesOf(made[1]->features[0]) == BytesOf(WordIds{1}));
  REQUIRE(made[2].status() == absl::InvalidArgumentError("an image without regions"));
  REQUIRE(made[3].status() == absl::InvalidArgumentError("the batch holds poison"));
  REQUIRE(made[4].status() == absl::InvalidArgumentError("an image without pixels"));
}

TEST_CASE("each picture's features are rounded to what its generation has") {
  FakeServingModelOptions options;
  options.fractions = true;
  const FakeServingModel model(options);
  std::vector<PictureToEncode> pictures;
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kFloat32, Dtype::kInt8}) {
    pictures.push_back(Regions({1, 3, 254}, {&model}));
    pictures.back().feature_dtype = dtype;
  }
  pictures.push_back(Regions({1, 70000}, {&model}));  // float16 by default, and has no such number
  pictures.push_back(Regions({1, 70000}, {&model}));
  pictures.back().feature_dtype = Dtype::kInt8;
  const auto made = Encode(model, std::move(pictures));
  REQUIRE(model.image_batches() == std::vector<int>{5});
  const auto bytes = [&](size_t i, const char* tensor) {
    REQUIRE(made[i].ok());
    REQUIRE(BytesOf(made[i]->features[0]) == BytesOf(WordIds{1, 3, 254}));  // ids stay
    return made[i]->features[0].Find(tensor)->bytes;
  };
  REQUIRE(bytes(0, "fractions") == std::string("\x00\x3c\x00\x42\xf0\x5b", 6));
  REQUIRE(bytes(1, "fractions").size() == 3 * 4);
  REQUIRE(bytes(2, "fractions") == std::string("\x00\x02\x7f", 3));
  REQUIRE(bytes(2, "fractions_scales") == std::string("\x00\x00\x00\x40", 4));  // 2
  REQUIRE(made[0]->features[0].tensors.size() == 2);
  REQUIRE(absl::IsInvalidArgument(made[3].status()));
  REQUIRE(made[4].ok());
}

TEST_CASE("a model that breaks down fails all that were beside it") {
  const FakeServingModel model;
  const auto made = Encode(model, {Regions({1}), Regions({IdsOf(kBreakdown)[0]})});
  REQUIRE(absl::IsInternal(made[0].status()));
  REQUIRE(absl::IsInternal(made[1].status()));
  REQUIRE(model.image_batches() == std::vector<int>{2});
}

TEST_CASE("texts are encoded together, and a bad one is refused alone") {
  const FakeServingModel model;
  std::vector<Tokens> texts;
  for (const std::string text : {"red fish", kPoison, "bird"}) {
    texts.push_back(*model.Tokenize(text));
  }
  const auto made = EncodeTexts(model, texts, kCall);
  REQUIRE(*made[0] == EmbeddingOf(IdsOf("red fish")));
  REQUIRE(absl::IsInvalidArgument(made[1].status()));
  REQUIRE(*made[2] == EmbeddingOf(IdsOf("bird")));
  REQUIRE(model.text_batches() == std::vector<int>{3, 1, 1, 1});
}

}  // namespace
}  // namespace sightline
