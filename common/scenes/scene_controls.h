// What can be found on Scenes without learning anything: by knowing all, and by knowing little.
// Both are told before any training, so that a table says what a figure is worth.
#ifndef SIGHTLINE_COMMON_SCENES_SCENE_CONTROLS_H_
#define SIGHTLINE_COMMON_SCENES_SCENE_CONTROLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/scenes/scene_set.h"

namespace sightline {

// R@1 with ties in every order equally often: of t captions or pictures that share the best score,
// r of them right ones, r / t.  0 to 1.
struct ControlRecall {
  double text_to_image = 0;  // a query a caption
  double image_to_text = 0;  // a query a picture; right are its captions
  int64_t pictures = 0;
};

struct SceneControls {
  // Scores by Evaluate(): false, unclear, true.
  ControlRecall oracle;
  // Scores by the share of the nouns and tints that a caption names which are on the picture,
  // whoever has them.
  ControlRecall bag_of_families;  // pictures of families, among all
  ControlRecall bag;
};

// Captions of `pool` against its pictures; those of text to image against `distractors` too, which
// may be empty.
SceneControls MeasureControls(const std::vector<ScenePicture>& pool,
                              const std::vector<ScenePicture>& distractors);

// For people: a line for each of the three, in percent.
std::string Report(const SceneControls& controls);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_SCENE_CONTROLS_H_
