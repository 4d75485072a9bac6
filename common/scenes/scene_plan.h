// From what is to be seen to where it lies.
//
// The canvas is two rows of two cells, 112 pixels each way.  Objects 0 and 1 are the pair whose
// relation the scene is about.  They share a row (left of, right of) or a column (above, below);
// or the one in front stands before the other's lower three eighths in the middle of a row, both
// with their copies in a row.  Object 2 has a cell of the other row or column, object 3 what is
// left; behind a pair in front of each other object 2, if alone, is in the middle.  An object's
// copies, and a pair in front of each other, are moved together by up to kMaxJitter pixels from
// the middle, and never leave their cells, of which a pixel on each side remains free.
//
// So centers of neighbours in a row or a column are at least 96 pixels apart one way (with a pair
// in front of each other 70) and at most 16 the other way; diagonal ones are far from the 4 to 1
// that Holds() asks for.  Whatever is drawn, each relation that is true is plain to see.
#ifndef SIGHTLINE_COMMON_SCENES_SCENE_PLAN_H_
#define SIGHTLINE_COMMON_SCENES_SCENE_PLAN_H_

#include <array>
#include <string>
#include <vector>

#include "common/scenes/scene_graph.h"

namespace sightline {

inline constexpr int kMaxJitter = 8;

struct ObjectPlan {
  int noun = 0;
  int drawing = 0;
  SceneTint tint = SceneTint::kRed;
  SceneSize size = SceneSize::kSmall;
  int count = 1;
};

struct ScenePlan {
  struct Jitter {
    int x = 0, y = 0;  // -kMaxJitter to kMaxJitter
  };

  std::vector<ObjectPlan> objects;                   // 2 to 4
  SceneRelation relation = SceneRelation::kLeftOf;   // of object 0 to object 1
  int line = 0;                                      // row or column of the pair: 0 or 1
  int corner = 0;                                    // cell of object 2 in the other one: 0 or 1
  std::array<Jitter, kMaxSceneObjects> jitter = {};  // by place: what trades places trades it
  std::string word;                                  // empty unless HasRoomForWord
};

// Whether a cell or a whole row is left for a word.
bool HasRoomForWord(int objects, SceneRelation relation);

SceneGraph LayOut(const ScenePlan& plan);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_SCENE_PLAN_H_
