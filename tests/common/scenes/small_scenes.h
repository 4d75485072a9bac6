// A small Scenes, made once for all cases of a program.
#ifndef SIGHTLINE_TESTS_COMMON_SCENES_SMALL_SCENES_H_
#define SIGHTLINE_TESTS_COMMON_SCENES_SMALL_SCENES_H_

#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/scenes/scene_set.h"
#include "tests/support/catch.h"

namespace sightline {

inline CallContext UnboundedCall() {
  return CallContext(Clock::Real(), absl::InfiniteFuture());
}

inline SceneOptions SmallSceneOptions() {
  SceneOptions options;
  options.sizes = {100, 50, 60, 100, 400};
  return options;
}

inline const SceneSet& SmallScenes() {
  static const SceneSet* const set = [] {
    absl::StatusOr<SceneSet> made = MakeScenes(SmallSceneOptions(), UnboundedCall());
    INFO(made.status());
    REQUIRE(made.ok());
    return new SceneSet(*std::move(made));
  }();
  return *set;
}

inline const std::vector<ScenePicture>& SmallSplit(SceneSplit split) {
  return SmallScenes()[static_cast<int>(split)];
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_SCENES_SMALL_SCENES_H_
