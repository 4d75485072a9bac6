// Many scenes, by the pairs of nouns that they show: whatever a claim may be true of shows its
// first two nouns, and few scenes do.
#ifndef SIGHTLINE_COMMON_SCENES_SCENE_INDEX_H_
#define SIGHTLINE_COMMON_SCENES_SCENE_INDEX_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/types/span.h"
#include "common/scenes/scene_claim.h"
#include "common/scenes/scene_graph.h"

namespace sightline {

// Scenes have numbers in the order in which they were added.  Not thread-safe while one is.
class SceneIndex {
 public:
  // `scene` outlives the index.
  void Add(const SceneGraph* scene);

  int64_t size() const { return static_cast<int64_t>(scenes_.size()); }
  const SceneGraph& scene(int64_t number) const { return *scenes_[number]; }

  // The scenes that show both nouns, ascending; valid until the next Add.
  absl::Span<const int64_t> Showing(int noun, int other) const;

  // The scenes that the claim is not false of, ascending.
  std::vector<int64_t> NotFalse(const SceneClaim& claim) const;
  // Whether there is none, but for `except` perhaps.
  bool IsFalseOfAll(const SceneClaim& claim, int64_t except = -1) const;

  // The scenes that share two nouns with `scene`, some of them more than once.
  std::vector<int64_t> SharingPair(const SceneGraph& scene) const;

 private:
  std::vector<const SceneGraph*> scenes_;
  std::unordered_map<int64_t, std::vector<int64_t>> by_pair_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_SCENE_INDEX_H_
