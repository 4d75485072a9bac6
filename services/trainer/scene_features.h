// The pictures of Sightline Scenes as regions: what the detector (common/training/scenes) sees of
// each, as a region file.
#ifndef SIGHTLINE_SERVICES_TRAINER_SCENE_FEATURES_H_
#define SIGHTLINE_SERVICES_TRAINER_SCENE_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/call_context.h"
#include "common/log/progress.h"
#include "common/scenes/drawing_set.h"
#include "common/scenes/scene_set.h"
#include "common/training/scenes/scene_detector.h"

namespace sightline {

// What appended box numbers are multiplied by.  Features are from -1 to 1, and most of them near an
// end; six numbers from 0 to 1 beside 256 of these would be a six-hundredth of a region's variance,
// and a network that begins with nothing would hardly see where anything is.  So they are as much.
inline constexpr float kAppendedBoxScale = 32;

struct SceneFeaturesJob {
  const DrawingSet* drawings = nullptr;
  const SceneDetector* detector = nullptr;
  std::string directory;
  uint64_t seed = 1;  // of the boxes
  // Whether x1/W - 1/2, y1/H - 1/2, x2/W - 1/2, y2/H - 1/2, w/W, h/H, times kAppendedBoxScale,
  // stand behind each region's features in place of boxes of their own: for models whose first
  // layer reads both at once.
  bool append_boxes = false;
  int threads = 1;
};

// Writes <split>.regions into the directory, or <split>.boxed.regions with appended boxes.  Of each
// picture, in the order of the ids: its captions in all languages, its split, as OCR token the
// word that is drawn in; twelve regions in the order of their proposals, with features in float16,
// boxes, confidences and soft labels, and as tags the noun that the detector sees in each of them,
// or "background".
//
// The file appears whole or not at all; parts of it lie in a folder beside it until the call ends.
// The same pictures and job give the same boxes, and the same numbers up to the detector's
// rounding. InvalidArgument for no pictures; errors as CompositionOf, Compose, Detect, the disk,
// and the call.
absl::Status WriteSceneFeatures(absl::Span<const ScenePicture> pictures, SceneSplit split,
                                const SceneFeaturesJob& job, Progress* progress,
                                const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_SCENE_FEATURES_H_
