// What is on a picture of Sightline Scenes: two to four objects, where they lie, and a word
// perhaps.  A graph says all that is to be painted and all that is true of the picture; nothing
// in it is a fraction, so that it is the same on every machine.
//
// The canvas is 224 x 224; boxes are in its pixels, from the upper left corner.
#ifndef SIGHTLINE_COMMON_SCENES_SCENE_GRAPH_H_
#define SIGHTLINE_COMMON_SCENES_SCENE_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sightline {

inline constexpr int kSceneSide = 224;
inline constexpr int kTintCount = 8;
inline constexpr int kSizeCount = 3;
inline constexpr int kMaxSceneCount = 4;    // copies of an object
inline constexpr int kMaxSceneObjects = 4;  // at least two

enum class SceneTint { kRed, kOrange, kYellow, kGreen, kBlue, kPurple, kPink, kBrown };
enum class SceneSize { kSmall, kMedium, kLarge };

// Of a subject to an object.  "In front of" is the fifth because it is the one that needs
// neither a direction nor a drawing's inside: the subject covers the lower part of the other.
// "Inside" and "on" are true or false by what is drawn; "beside" holds wherever "left of" does.
enum class SceneRelation { kLeftOf, kRightOf, kAbove, kBelow, kInFrontOf };

// "red", "small", "left_of".
absl::string_view Name(SceneTint tint);
absl::string_view Name(SceneSize size);
absl::string_view Name(SceneRelation relation);

// That of the object to the subject.  "In front of" has none: it is its own, for callers that
// exchange subject and object too.
SceneRelation Mirrored(SceneRelation relation);

// The side of the square that one copy fills, the same whatever the count: 28, 40 or 54.
int SideOf(SceneSize size);

struct SceneBox {
  int x = 0, y = 0, width = 0, height = 0;
};
bool operator==(const SceneBox& a, const SceneBox& b);
// Whether they share a pixel.
bool Overlap(const SceneBox& a, const SceneBox& b);

struct SceneObject {
  int noun = 0;     // index into Nouns(); no two objects of a scene share it
  int drawing = 0;  // of the noun's; the last one is held out
  SceneTint tint = SceneTint::kRed;
  SceneSize size = SceneSize::kSmall;
  int count = 1;                 // 1 to 4
  SceneBox box;                  // around all copies
  std::vector<SceneBox> copies;  // `count` squares of SideOf(size), apart from each other
  int layer = 0;                 // painted in this order: 1 covers 0
};

struct SceneWord {
  std::string text;  // A to Z; empty: no word is drawn in
  SceneBox box;      // that it is to fit; overlaps no object
};

struct SceneGraph {
  std::vector<SceneObject> objects;
  SceneWord word;
};

// What can be said of a relation by looking at the picture.  Captions say only what is certain
// of their picture and certainly not so on the others; what lies between is never asked.
enum class Truth { kFalse, kUnclear, kTrue };

// By boxes and layers alone.  With the distance (dx, dy) from center to center:
//   left of      true: apart, and |dx| >= 4 |dy|, to the left; false: not to the left, or
//                |dy| >= 4 |dx|; unclear: what lies diagonally, and what overlaps
//   right of, above, below    likewise
//   in front of  true: the boxes overlap, and it is painted later; otherwise false
Truth Holds(SceneRelation relation, const SceneObject& subject, const SceneObject& object);

// A relation that is true.
struct SceneFact {
  int subject = 0;
  SceneRelation relation = SceneRelation::kLeftOf;
  int object = 0;
};

// All of them but for mirrored doubles: left of, above and in front of, by subject, then object.
std::vector<SceneFact> FactsOf(const SceneGraph& scene);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_SCENE_GRAPH_H_
