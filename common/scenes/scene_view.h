// A painted picture with the boxes that are looked at.
#ifndef SIGHTLINE_COMMON_SCENES_SCENE_VIEW_H_
#define SIGHTLINE_COMMON_SCENES_SCENE_VIEW_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/base/random.h"
#include "common/image/image_input.h"
#include "common/scenes/composition.h"
#include "common/scenes/drawing_set.h"
#include "common/scenes/proposals.h"

namespace sightline {

struct SceneView {
  Pixels canvas;
  std::vector<Proposal> proposals;  // kProposals; their copies are places in the composition
};

// Paints and proposes; `random` decides on the boxes.  InvalidArgument for a composition without
// drawings; else as Compose.
absl::StatusOr<SceneView> ViewScene(const Composition& composition, const DrawingSet& drawings,
                                    Random* random);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_SCENE_VIEW_H_
