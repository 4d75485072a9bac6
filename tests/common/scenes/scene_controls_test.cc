#include "common/scenes/scene_controls.h"

#include <functional>
#include <set>

#include "tests/common/scenes/small_scenes.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Score = std::function<double(const SceneClaim& claim, const SceneGraph& scene)>;

double OracleScore(const SceneClaim& claim, const SceneGraph& scene) {
  return static_cast<double>(Evaluate(claim, scene));
}

double BagScore(const SceneClaim& claim, const SceneGraph& scene) {
  std::set<int> nouns, tints;
  for (const SceneObject& object : scene.objects) {
    nouns.insert(object.noun);
    tints.insert(static_cast<int>(object.tint));
  }
  double said = 0, there = 0;
  for (const ObjectClaim& object : claim.objects) {
    ++said;
    there += nouns.count(object.noun);
    if (!object.tint) continue;
    ++said;
    there += tints.count(static_cast<int>(*object.tint));
  }
  return there / said;
}

// By all scores of all captions and all pictures.
ControlRecall SlowRecall(const std::vector<ScenePicture>& pool,
                         const std::vector<ScenePicture>& distractors, const Score& score,
                         bool families_only) {
  std::vector<const ScenePicture*> all;
  for (const ScenePicture& picture : pool) all.push_back(&picture);
  for (const ScenePicture& picture : distractors) all.push_back(&picture);
  // The share of right ones among those with the best score.
  const auto top = [](const std::vector<std::pair<double, bool>>& scored) {
    double best = -1, right = 0, tied = 0;
    for (const auto& [value, is_right] : scored) {
      if (value > best) right = tied = 0;
      best = std::max(best, value);
      if (value < best) continue;
      ++tied;
      right += is_right;
    }
    return right / tied;
  };
  ControlRecall recall;
  double captions = 0;
  for (const ScenePicture& picture : pool) {
    if (families_only && picture.base < 0) continue;
    ++recall.pictures;
    for (const SceneCaption& caption : picture.captions) {
      std::vector<std::pair<double, bool>> scored;
      for (const ScenePicture* other : all) {
        scored.push_back({score(caption.claim, other->graph), other == &picture});
      }
      recall.text_to_image += top(scored);
      ++captions;
    }
    std::vector<std::pair<double, bool>> scored;
    for (const ScenePicture& other : pool) {
      for (const SceneCaption& caption : other.captions) {
        scored.push_back({score(caption.claim, picture.graph), &other == &picture});
      }
    }
    recall.image_to_text += top(scored);
  }
  recall.text_to_image /= captions;
  recall.image_to_text /= static_cast<double>(recall.pictures);
  return recall;
}

void RequireEqual(const ControlRecall& a, const ControlRecall& b) {
  REQUIRE(a.pictures == b.pictures);
  REQUIRE(a.text_to_image == Approx(b.text_to_image));
  REQUIRE(a.image_to_text == Approx(b.image_to_text));
}

TEST_CASE("the controls are what all scores of all pairs give") {
  for (const SceneSplit split : {SceneSplit::kTest1k, SceneSplit::kTest5k}) {
    const std::vector<ScenePicture>& pool = SmallSplit(split);
    for (const std::vector<ScenePicture>& distractors :
         {std::vector<ScenePicture>(), SmallSplit(SceneSplit::kDistractors)}) {
      const SceneControls controls = MeasureControls(pool, distractors);
      RequireEqual(controls.oracle, SlowRecall(pool, distractors, OracleScore, false));
      RequireEqual(controls.bag_of_families, SlowRecall(pool, distractors, BagScore, true));
      RequireEqual(controls.bag, SlowRecall(pool, distractors, BagScore, false));
    }
  }
}

TEST_CASE("who knows the scenes finds all, who knows nouns and colours a third of families") {
  for (const SceneSplit split :
       {SceneSplit::kValidation, SceneSplit::kTest1k, SceneSplit::kTest5k}) {
    const SceneControls controls =
        MeasureControls(SmallSplit(split), SmallSplit(SceneSplit::kDistractors));
    REQUIRE(controls.oracle.text_to_image == 1);
    REQUIRE(controls.oracle.image_to_text == 1);
    REQUIRE(controls.bag_of_families.text_to_image <= 0.35);
    REQUIRE(controls.bag_of_families.image_to_text <= 0.35);
    REQUIRE(controls.bag_of_families.text_to_image > 0.25);  // five share a bag, one does not
  }
}

TEST_CASE("an oracle that is told a wrong thing is no longer one") {
  std::vector<ScenePicture> pool = SmallSplit(SceneSplit::kTest1k);
  pool[1].captions = pool[0].captions;
  std::vector<ScenePicture> swapped = pool;
  swapped[1].graph = pool[0].graph;
  const SceneControls controls = MeasureControls(swapped, {});
  REQUIRE(controls.oracle.text_to_image < 1);
  REQUIRE(controls.oracle.image_to_text < 1);
}

TEST_CASE("the report gives percents") {
  SceneControls controls;
  controls.oracle = {1, 0.5, 60};
  REQUIRE_THAT(Report(controls), Catch::Contains("oracle"));
  REQUIRE_THAT(Report(controls), Catch::Contains("100.0"));
  REQUIRE_THAT(Report(controls), Catch::Contains("50.0"));
}

}  // namespace
}  // namespace sightline
