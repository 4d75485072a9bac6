// Two pictures of drawings made of numbers, whose features by the committed weights are known.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_SCENES_KNOWN_VIEWS_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_SCENES_KNOWN_VIEWS_H_

#include <vector>

#include "common/scenes/scene_view.h"
#include "tests/common/training/scenes/scene_drawings.h"

namespace sightline {

// A line a region, in the order of the proposals: its features with four decimals, a space between.
inline constexpr char kKnownFeatures[] = "tests/common/training/scenes/known_features.txt";

inline std::vector<SceneView> KnownViews() {
  const DrawingSet drawings = MadeUpSceneDrawings();
  Composition crowd, pair;
  for (int i = 0; i < 9; ++i) {
    crowd.drawings.push_back(
        {37 * i, i % 8, SceneSides()[i % 3], 12 + 70 * (i % 3), 9 + 72 * (i / 3)});
  }
  pair.drawings = {{100, 2, 54, 60, 70}, {201, 6, 40, 70, 90}};
  pair.word = PlacedWord{"OPEN", 4, 20, 180};
  Random random(1);
  return {*ViewScene(crowd, drawings, &random), *ViewScene(pair, drawings, &random)};
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_SCENES_KNOWN_VIEWS_H_
