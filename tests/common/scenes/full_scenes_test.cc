#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/scenes/scene_controls.h"
#include "common/scenes/scene_files.h"
#include "common/scenes/scene_set.h"
#include "tests/common/scenes/small_scenes.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const SceneSet& FullScenes() {
  static const SceneSet* const set = [] {
    absl::StatusOr<SceneSet> made = MakeScenes(SceneOptions(), UnboundedCall());
    REQUIRE(made.ok());
    return new SceneSet(*std::move(made));
  }();
  return *set;
}

TEST_CASE("the benchmark is byte for byte what its lock says") {
  std::string sums;
  for (int split = 0; split < kSceneSplits; ++split) {
    Sha256 sum;
    for (const ScenePicture& picture : FullScenes()[split]) sum.Update(SceneLine(picture));
    absl::StrAppend(&sums, sum.Hex(), "  ", Name(static_cast<SceneSplit>(split)), ".jsonl\n");
  }
  REQUIRE(sums == *ReadFile("common/scenes/SHA256SUMS"));
}

TEST_CASE("of the benchmark the oracle finds all, and the bag at most 35 % of families") {
  for (const SceneSplit split :
       {SceneSplit::kValidation, SceneSplit::kTest1k, SceneSplit::kTest5k}) {
    const std::vector<ScenePicture>& pool = FullScenes()[static_cast<int>(split)];
    const SceneControls alone = MeasureControls(pool, {});
    const SceneControls among =
        MeasureControls(pool, FullScenes()[static_cast<int>(SceneSplit::kDistractors)]);
    for (const SceneControls& controls : {alone, among}) {
      REQUIRE(controls.oracle.text_to_image == 1);
      REQUIRE(controls.oracle.image_to_text == 1);
      REQUIRE(controls.bag_of_families.text_to_image <= 0.35);
      REQUIRE(controls.bag_of_families.image_to_text <= 0.35);
    }
    // Five of a family share their bag and the sixth is found by it.
    REQUIRE(alone.bag_of_families.text_to_image > 0.3);
  }
}

}  // namespace
}  // namespace sightline
