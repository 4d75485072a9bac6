#include "services/corpus_encoder/unit_encoder.h"

#include <limits>
#include <memory>

#include "common/models/item_encoder.h"
#include "tests/common/image/encode.h"
#include "tests/services/corpus_encoder/fake_model.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

std::shared_ptr<const Pixels> Shared(Pixels pixels) {
  return std::make_shared<const Pixels>(std::move(pixels));
}

struct Sample {
  Sample() {
    Add("a", {{"en", "red fish"}, {"de", "roter Fisch"}, {"en", "untokenizable"}});
    Add("b", {{"en", "never seen"}});
    Add("c", {});
    unit.pictures = pictures;
  }
  void Add(const std::string& id, std::vector<CorpusCaption> captions) {
    ScannedPicture picture;
    picture.item.item_id = id;
    picture.item.captions = std::move(captions);
    pictures.push_back(picture);
  }
  // For each extractor of `models` in another size; two of its three pictures are good.
  static std::vector<DecodedPicture> Decoded(const CorpusModels& models) {
    std::vector<DecodedPicture> pictures(3);
    pictures[1].problem = "broken";
    int times = 1;
    for (const RegionExtractor* extractor :
         PictureExtractors(*models.encoder, models.reranker_models())) {
      const bool sees = extractor != nullptr;
      pictures[0].pixels.push_back(sees ? Shared(Gradient(4 * times, 4 * times)) : nullptr);
      pictures[2].pixels.push_back(sees ? Shared(Gradient(2 * times, 9 * times)) : nullptr);
      times *= 2;
    }
    return pictures;
  }
  absl::StatusOr<UnitResult> Encode(const FakeModelBehavior& behavior) const {
    return EncodeBy(MakeCorpusModels(std::make_shared<FakeModel>(behavior), {}));
  }
  absl::StatusOr<UnitResult> EncodeBy(const CorpusModels& models) const {
    return EncodeUnit(models, unit, Decoded(models), "en", CallContext::Unbounded());
  }
  std::vector<ScannedPicture> pictures;
  WorkUnit unit;
};

TEST_CASE("pictures and their captions are encoded, bad ones take their captions along") {
  const auto result = Sample().Encode({});
  REQUIRE(result.ok());
  REQUIRE(result->images.size() == 3);
  REQUIRE(result->images[0].embedding.size() == 4);
  REQUIRE(result->images[0].features[0].tensors[0].name == "rows");
  REQUIRE(result->images[1].rejected == "broken");
  REQUIRE(result->images[1].embedding.empty());
  REQUIRE(result->images[2].item_id == "c");
  REQUIRE(result->images[2].embedding != result->images[0].embedding);

  REQUIRE(result->captions.size() == 2);
  REQUIRE(result->captions[0].item_id == "a#en-1");
  REQUIRE(result->captions[0].embedding == std::vector<float>{3, 4, 0, 0});
  REQUIRE(result->captions[0].features[0].tensors[0].name == "ids");
  REQUIRE(result->captions[1].item_id == "a#en-2");
  REQUIRE(result->captions[1].rejected == "caption: no token in it");
}

TEST_CASE("without a cross-encoder there are no features") {
  FakeModelBehavior behavior;
  behavior.cross_encoder = false;
  const auto result = Sample().Encode(behavior);
  REQUIRE(result.ok());
  REQUIRE(result->images[0].features.empty());
  REQUIRE(result->captions[0].features.empty());
}

TEST_CASE("an embedding with NaN, with infinity or of zeros costs its picture, with captions") {
  std::vector<FakeModelBehavior> broken(3);
  broken[0].image_bias = std::numeric_limits<float>::quiet_NaN();
  broken[1].image_bias = -std::numeric_limits<float>::infinity();
  broken[2].zero_images = true;
  const char* const reasons[] = {"NaN", "infinity", "all zero"};
  for (size_t i = 0; i < broken.size(); ++i) {
    const auto result = Sample().Encode(broken[i]);
    REQUIRE(result.ok());
    REQUIRE_THAT(result->images[0].rejected, Catch::Contains(reasons[i]));
    REQUIRE(result->images[0].embedding.empty());
    REQUIRE(result->images[0].features.empty());
    REQUIRE(result->images[1].rejected == "broken");
    REQUIRE(result->captions.empty());
  }
}

TEST_CASE("a caption with a bad embedding is rejected alone") {
  Sample sample;
  sample.pictures[0].item.captions = {{"en", ""}, {"en", "red fish"}};
  sample.unit.pictures = sample.pictures;
  const auto result = sample.Encode({});
  REQUIRE(result.ok());
  REQUIRE(result->images[0].rejected.empty());
  REQUIRE_THAT(result->captions[0].rejected, Catch::Contains("all zero"));
  REQUIRE(result->captions[0].features.empty());
  REQUIRE(result->captions[1].rejected.empty());
}

TEST_CASE("a reranker of its own sees pictures as decoded for it and makes all features") {
  FakeModelBehavior plain, other;
  plain.cross_encoder = false;
  other.id = std::string(64, 'b');
  const auto encoder = std::make_shared<FakeModel>(plain);
  const auto reranker = std::make_shared<FakeModel>(other);
  const auto alone = Sample().EncodeBy(MakeCorpusModels(encoder, {}));
  const auto both = Sample().EncodeBy(MakeCorpusModels(encoder, {{"default", reranker}}));
  const auto swapped = Sample().EncodeBy(MakeCorpusModels(reranker, {}));
  REQUIRE(alone.ok());
  REQUIRE(both.ok());
  REQUIRE(swapped.ok());
  REQUIRE(both->images[0].embedding == alone->images[0].embedding);
  REQUIRE(both->captions[0].embedding == alone->captions[0].embedding);
  REQUIRE(both->captions[0].features[0].tensors.size() == 1);
  REQUIRE(both->images[0].features[0].tensors.size() == 1);
  // Of the second picture's mean colour, not of the encoder's.
  REQUIRE(both->images[0].features[0].tensors[0].bytes !=
          swapped->images[0].features[0].tensors[0].bytes);
  REQUIRE(both->images[1].rejected == "broken");
  REQUIRE(reranker->encoded_pictures() == 2);  // by the swapped run alone
}

TEST_CASE("each reranker's features are made, from pictures as decoded for it") {
  FakeModelBehavior second, third;
  second.id = std::string(64, 'b');
  third.id = std::string(64, 'c');
  const auto encoder = std::make_shared<FakeModel>();
  const CorpusModels models =
      MakeCorpusModels(encoder, {{"fast", std::make_shared<FakeModel>(second)},
                                 {"own", encoder},
                                 {"fine", std::make_shared<FakeModel>(third)}});
  const Sample sample;
  const auto result = sample.EncodeBy(models);
  REQUIRE(result.ok());
  const auto own = sample.EncodeBy(MakeCorpusModels(encoder, {}));
  const UnitRow& image = result->images[0];
  REQUIRE(image.features.size() == 3);
  const auto rows = [](const ItemFeatures& features) { return features.Find("rows")->bytes; };
  REQUIRE(rows(image.features[1]) == rows(own->images[0].features[0]));
  REQUIRE(rows(image.features[0]) != rows(image.features[1]));
  REQUIRE(rows(image.features[2]) != rows(image.features[0]));
  REQUIRE(result->captions[0].features.size() == 3);
  REQUIRE(result->images[1].features.empty());
  REQUIRE(result->captions[1].features.empty());
}

TEST_CASE("a caption that only the reranker's tokenizer refuses is rejected alone") {
  FakeModelBehavior other;
  other.refused = "fish";
  const auto result = Sample().EncodeBy(MakeCorpusModels(
      std::make_shared<FakeModel>(), {{"default", std::make_shared<FakeModel>(other)}}));
  REQUIRE(result.ok());
  REQUIRE(result->captions.size() == 2);
  REQUIRE(result->captions[0].rejected == "caption: no token in it");
  REQUIRE(result->captions[0].embedding.empty());
  REQUIRE(result->images[0].rejected.empty());
}

RegionSet Regions(float first) {
  RegionSet regions;
  regions.count = 2;
  regions.feature_size = 3;
  regions.features = {first, 2, 3, 4, 5, 6};
  return regions;
}

TEST_CASE("regions are taken as they are, by encoder and reranker, beside pictures") {
  const Sample sample;
  FakeModelBehavior other;
  other.id = std::string(64, 'b');
  const auto models = MakeCorpusModels(std::make_shared<FakeModel>(),
                                       {{"default", std::make_shared<FakeModel>(other)}});
  std::vector<DecodedPicture> decoded = Sample::Decoded(models);
  decoded[2] = DecodedPicture();
  decoded[2].image.regions = Regions(7);
  const auto result =
      EncodeUnit(models, sample.unit, std::move(decoded), "en", CallContext::Unbounded());
  REQUIRE(result.ok());
  REQUIRE(result->images[2].embedding == std::vector<float>{7, 2, 3, 1});
  REQUIRE(result->images[2].features[0].tensors.size() == 1);
  // The picture beside it is what it is alone.
  const auto alone = sample.EncodeBy(models);
  REQUIRE(result->images[0].embedding == alone->images[0].embedding);
  REQUIRE(result->images[0].features[0].tensors[0].bytes ==
          alone->images[0].features[0].tensors[0].bytes);
}

TEST_CASE("rows are kept as the job says, and what they cannot hold is rejected alone") {
  Sample sample;
  const auto encode = [&](Dtype dtype) {
    std::vector<DecodedPicture> decoded(3);
    for (int i = 0; i < 3; ++i) decoded[i].image.regions = Regions(i == 0 ? 1e6f : 7);
    CorpusModels models = MakeCorpusModels(std::make_shared<FakeModel>(), {});
    models.feature_dtype = dtype;
    const auto result =
        EncodeUnit(models, sample.unit, std::move(decoded), "en", CallContext::Unbounded());
    REQUIRE(result.ok());
    return *result;
  };
  const UnitResult half = encode(Dtype::kFloat16), byte = encode(Dtype::kInt8);
  REQUIRE_THAT(half.images[0].rejected,
               Catch::Contains("the model refuses it") && Catch::Contains("too large for float16"));
  REQUIRE(half.images[1].features[0].Find("rows")->dtype == Dtype::kFloat16);
  REQUIRE(half.images[1].features[0].tensors.size() == 1);
  for (const UnitRow& row : byte.images) {
    REQUIRE(row.rejected.empty());
    REQUIRE(row.features[0].Find("rows")->dtype == Dtype::kInt8);
    REQUIRE(row.features[0].Find("rows_scales")->rows == 2);
  }
}

TEST_CASE("an item that the model refuses is rejected, and the others are encoded") {
  Sample sample;
  std::vector<DecodedPicture> decoded(3);
  for (int i = 0; i < 3; ++i) decoded[i].image.regions = Regions(i == 0 ? 99 : 7);
  FakeModelBehavior behavior;
  behavior.refused_feature = 99;
  const auto result = EncodeUnit(MakeCorpusModels(std::make_shared<FakeModel>(behavior), {}),
                                 sample.unit, std::move(decoded), "en", CallContext::Unbounded());
  REQUIRE(result.ok());
  REQUIRE(result->images[0].rejected == "the model refuses it: an image has too few regions");
  REQUIRE(result->images[0].embedding.empty());
  REQUIRE(result->images[1].embedding == std::vector<float>{7, 2, 3, 1});
  REQUIRE(result->images[2].features[0].tensors.size() == 1);
  REQUIRE(result->captions.size() == 1);  // of the second; those of the first went with it
}

TEST_CASE("models that lack a part are refused before any work") {
  const auto check = [](const FakeModelBehavior& encoder, const FakeModelBehavior& reranker) {
    const absl::Status status = CheckModelsForCorpus(MakeCorpusModels(
        std::make_shared<FakeModel>(encoder),
        {{"fine", std::make_shared<FakeModel>()}, {"bad", std::make_shared<FakeModel>(reranker)}}));
    REQUIRE((status.ok() || absl::IsFailedPrecondition(status)));
    return std::string(status.message());
  };
  const FakeModelBehavior whole;
  FakeModelBehavior no_images, no_cross;
  no_images.image_encoder = false;
  no_cross.cross_encoder = false;
  REQUIRE(check(whole, whole).empty());
  REQUIRE(check(no_cross, whole).empty());
  REQUIRE_THAT(check(no_images, whole), Catch::Contains("no image encoder"));
  REQUIRE_THAT(check(whole, no_cross), Catch::Contains("no cross-encoder"));
  const auto same = std::make_shared<FakeModel>(no_cross);
  REQUIRE_FALSE(
      CheckModelsForCorpus(MakeCorpusModels(same, {{"default", same}})).ok());  // it was asked for
  // Without a reranker there is nothing to lack.
  REQUIRE(CheckModelsForCorpus(MakeCorpusModels(std::make_shared<FakeModel>(no_cross), {})).ok());
}

}  // namespace
}  // namespace sightline
