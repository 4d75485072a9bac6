// What a caption says, apart from the words it says it in, and whether it is so.
#ifndef SIGHTLINE_COMMON_SCENES_SCENE_CLAIM_H_
#define SIGHTLINE_COMMON_SCENES_SCENE_CLAIM_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "common/base/random.h"
#include "common/scenes/scene_graph.h"

namespace sightline {

struct ObjectClaim {
  int noun = 0;
  int count = 1;
  // "One apple" and not "an apple".  The latter is said of one too, yet is unclear, not false,
  // where there are more.  More than one is always a number, and exact.
  bool counted = false;
  absl::optional<SceneTint> tint;
  absl::optional<SceneSize> size;
};

struct SceneClaim {
  std::vector<ObjectClaim> objects;  // two or three; no noun twice
  // The first is of object 0 to object 1.  A second is of object 2 to either.
  std::vector<SceneFact> relations;
  std::string word;  // empty: nothing is said of one
};

// True if all of it is, false if anything is.
Truth Evaluate(const SceneClaim& claim, const SceneGraph& scene);

// A claim that is true of `scene` about objects 0 and 1, or about any two that a fact binds,
// with details at random; what to add, and in which order, if it has to say more.  `scene`
// outlives it.
class ClaimDraft {
 public:
  ClaimDraft(const SceneGraph& scene, bool about_pair, Random* random);

  SceneClaim Claim() const;
  // False if all is said.
  bool SayMore();

 private:
  // What can be said or left out: of each of three objects a tint, a size and that one is one;
  // the third object, the word.
  enum Detail { kTint = 0, kSize = 3, kOne = 6, kThird = 9, kWord = 10, kDetails = 11 };

  ObjectClaim ClaimOf(int place, int object) const;
  void RelateThird(SceneClaim* claim) const;
  bool Says(int detail) const { return said_[detail]; }

  const SceneGraph& scene_;
  SceneFact fact_;
  int third_ = -1;
  bool said_[kDetails] = {};
  std::vector<int> unsaid_;  // the next one last
};

// A claim about objects 0 and 1 that says all it can, of them, of a third and of the word.  The
// same for equal scenes.
SceneClaim RichestClaim(const SceneGraph& scene);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_SCENE_CLAIM_H_
