// How much the detector of Sightline Scenes sees, on scenes of its own: none of any split.
#ifndef SIGHTLINE_COMMON_TRAINING_SCENES_DETECTOR_ACCURACY_H_
#define SIGHTLINE_COMMON_TRAINING_SCENES_DETECTOR_ACCURACY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/scenes/drawing_set.h"
#include "common/scenes/scene_draws.h"
#include "common/training/scenes/scene_detector.h"

namespace sightline {

// Counts of regions.
struct DetectorAccuracy {
  int64_t copies = 0;  // near a copy
  // Of those: what is likeliest is its noun, its tint, its size.
  int64_t nouns = 0, tints = 0, sizes = 0;
  int64_t false_proposals = 0;
  int64_t rejected = 0;  // of those: nothing is likeliest
};

// Draws `pictures` scenes of a kind by `seed`, looks at each, and counts.  Errors as CompositionOf,
// Compose and Detect; Cancelled when the call is.
absl::StatusOr<DetectorAccuracy> MeasureDetector(const SceneDetector& detector,
                                                 const DrawingSet& drawings, SceneKind kind,
                                                 int64_t pictures, uint64_t seed,
                                                 const CallContext& call);

// "plain            nouns  91.2 %  tints ..." without a newline.
std::string AccuracyLine(SceneKind kind, const DetectorAccuracy& accuracy);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_SCENES_DETECTOR_ACCURACY_H_
