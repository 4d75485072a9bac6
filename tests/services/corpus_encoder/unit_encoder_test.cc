#include "services/corpus_encoder/unit_encoder.h"

#include <limits>

#include "catch2/catch.hpp"
#include "tests/common/image/encode.h"
#include "tests/services/corpus_encoder/fake_model.h"

namespace sightline {
namespace {

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
  std::vector<DecodedPicture> Decoded() const {
    return {{Gradient(4, 4), ""}, {{}, "broken"}, {Gradient(2, 9), ""}};
  }
  absl::StatusOr<UnitResult> Encode(const FakeModelBehavior& behavior) const {
    return EncodeUnit(FakeModel(behavior), unit, Decoded(), "en", CallContext::Unbounded());
  }
  std::vector<ScannedPicture> pictures;
  WorkUnit unit;
};

TEST_CASE("pictures and their captions are encoded, bad ones take their captions along") {
  const auto result = Sample().Encode({});
  REQUIRE(result.ok());
  REQUIRE(result->images.size() == 3);
  REQUIRE(result->images[0].embedding.size() == 4);
  REQUIRE(result->images[0].features.tensors[0].name == "rows");
  REQUIRE(result->images[1].rejected == "broken");
  REQUIRE(result->images[1].embedding.empty());
  REQUIRE(result->images[2].item_id == "c");
  REQUIRE(result->images[2].embedding != result->images[0].embedding);

  REQUIRE(result->captions.size() == 2);
  REQUIRE(result->captions[0].item_id == "a#en-1");
  REQUIRE(result->captions[0].embedding == std::vector<float>{3, 4, 0, 0});
  REQUIRE(result->captions[0].features.tensors[0].name == "ids");
  REQUIRE(result->captions[1].item_id == "a#en-2");
  REQUIRE(result->captions[1].rejected == "caption: no token in it");
}

TEST_CASE("without a cross-encoder there are no features") {
  FakeModelBehavior behavior;
  behavior.cross_encoder = false;
  const auto result = Sample().Encode(behavior);
  REQUIRE(result.ok());
  REQUIRE(result->images[0].features.tensors.empty());
  REQUIRE(result->captions[0].features.tensors.empty());
}

TEST_CASE("NaN, infinity and zero are the model's fault and end the job, naming the item") {
  std::vector<FakeModelBehavior> broken(3);
  broken[0].image_bias = std::numeric_limits<float>::quiet_NaN();
  broken[1].image_bias = -std::numeric_limits<float>::infinity();
  broken[2].zero_images = true;
  for (const FakeModelBehavior& behavior : broken) {
    const absl::Status status = Sample().Encode(behavior).status();
    REQUIRE(absl::IsInternal(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains("gave item a an embedding"));
  }
}

TEST_CASE("a model that lacks a part is refused before any work") {
  REQUIRE(CheckModelForCorpus(FakeModel()).ok());
  FakeModelBehavior behavior;
  behavior.image_encoder = false;
  const absl::Status status = CheckModelForCorpus(FakeModel(behavior));
  REQUIRE(absl::IsFailedPrecondition(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("no image encoder"));
}

}  // namespace
}  // namespace sightline
