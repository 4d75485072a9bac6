#include "common/scenes/scene_view.h"

#include <cstdint>

#include "absl/status/status.h"
#include "common/base/status_macros.h"
#include "common/scenes/compose.h"

namespace sightline {

absl::StatusOr<SceneView> ViewScene(const Composition& composition, const DrawingSet& drawings,
                                    Random* random) {
  if (composition.drawings.empty()) {
    return absl::InvalidArgumentError("a scene without drawings has nothing to look at");
  }
  std::vector<PixelBox> copies;
  for (const PlacedDrawing& placed : composition.drawings) {
    ASSIGN_OR_RETURN(copies.emplace_back(), BoxOf(placed, drawings));
  }
  SceneView view;
  ASSIGN_OR_RETURN(view.canvas, Compose(composition, drawings));
  view.proposals = Propose(copies, [random](uint64_t bound) {
    return static_cast<uint64_t>(random->Below(static_cast<int64_t>(bound)));
  });
  return view;
}

}  // namespace sightline
