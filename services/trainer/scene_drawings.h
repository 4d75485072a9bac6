// The drawings of Sightline Scenes, for commands that paint.
#ifndef SIGHTLINE_SERVICES_TRAINER_SCENE_DRAWINGS_H_
#define SIGHTLINE_SERVICES_TRAINER_SCENE_DRAWINGS_H_

#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/scenes/drawing_set.h"
#include "common/scenes/drawings.h"
#include "common/scenes/scene_pictures.h"

namespace sightline {

// All of them in the sides that scenes have, held to their lock.  Errors as OpenDrawingCorpora and
// ReadDrawings.
inline absl::StatusOr<DrawingSet> ReadSceneDrawings() {
  ASSIGN_OR_RETURN(const auto corpora, OpenDrawingCorpora());
  return ReadDrawings(LockedDrawings(), corpora, SceneSides());
}

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_SCENE_DRAWINGS_H_
