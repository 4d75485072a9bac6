// Scenes at random: single ones, and families of six that differ in one thing each.
#ifndef SIGHTLINE_COMMON_SCENES_SCENE_DRAWS_H_
#define SIGHTLINE_COMMON_SCENES_SCENE_DRAWS_H_

#include <array>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/base/random.h"
#include "common/scenes/scene_plan.h"

namespace sightline {

// Which drawings and tints.  What a plain scene has is all that training sees.
enum class SceneKind {
  kPlain,           // no drawing that is held out, no noun in the tint that is held out for it
  kNewDrawing,      // of each noun the drawing that is held out
  kNewCombination,  // each noun in the tint that is held out for it
};
absl::string_view Name(SceneKind kind);

// What makes a sibling of a base.  All of it is about the pair, objects 0 and 1.
enum class SceneChange {
  kNone,              // the base
  kColoursSwapped,    // each has the other's tint
  kRelationMirrored,  // they trade places; the one behind comes to the front
  kRolesSwapped,      // each is of the other's noun; tint, size, count and place remain
  kCount,             // one of them is one more or one less
  kObjectReplaced,    // one of them is of a noun that is not in the scene
};
inline constexpr int kFamilySize = 6;
absl::string_view Name(SceneChange change);

// A detector gives twelve regions, three of them false: one is left for each copy.
inline constexpr int kMaxSceneCopies = 9;

ScenePlan DrawScene(SceneKind kind, Random* random);

// Plain scenes, by SceneChange, that differ in nothing else, not in a pixel's jitter either.
using SceneFamily = std::array<ScenePlan, kFamilySize>;
SceneFamily DrawFamily(Random* random);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_SCENE_DRAWS_H_
