// SGRAF: how many regions it reads, and which pairs it scores in one go.
#include "common/models/model.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tests/common/models/family_results.h"
#include "tests/common/models/sgraf/tiny.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();

TEST_CASE("SGRAF refuses another number of regions than its own") {
  const TinyFamily saf = TinySaf();
  ImageInput short_of_one = TinyImage(saf, 1);
  short_of_one.regions.count = 4;
  short_of_one.regions.features.resize(40);
  short_of_one.regions.boxes.resize(16);
  const absl::Status status =
      MakeTinyModel(saf)->cross_encoder()->PrepareImages({short_of_one}, kCall).status();
  REQUIRE(absl::StrContains(status.message(), "reads exactly 5"));
}

TEST_CASE("SGRAF scores pairs together, in whatever order, as each by itself") {
  for (const TinyFamily& family : sgraf::TinyOnes()) {
    INFO(family.name);
    const auto model = MakeTinyModel(family);
    const CrossEncoder& encoder = *model->cross_encoder();
    const auto images = *encoder.PrepareImages(Images(family), kCall);
    std::vector<ItemFeatures> texts;
    // The first two have equally many words.
    for (const int i : {1, 9, 2}) texts.push_back(*TextFeatures(*model, TinyText(i)));
    const std::vector<std::vector<std::pair<int, int>>> orders = {
        {{0, 0}, {0, 1}, {0, 2}},                          // one text
        {{0, 0}, {1, 1}, {0, 2}},                          // begins and ends with one
        {{0, 3}, {0, 4}, {1, 3}, {1, 4}, {2, 3}, {2, 4}},  // the same images for each text
    };
    for (const auto& order : orders) {
      std::vector<ScoringPair> pairs;
      for (const auto& [text, image] : order) pairs.push_back({&texts[text], &images[image]});
      const std::vector<float> together = *encoder.Score(pairs, kCall);
      std::vector<float> alone;
      for (const ScoringPair& pair : pairs) alone.push_back((*encoder.Score({pair}, kCall))[0]);
      REQUIRE(Farthest(together, alone) < 1e-5);
    }
  }
}

}  // namespace
}  // namespace sightline
