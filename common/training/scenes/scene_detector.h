// The detector of Sightline Scenes: the trained net over the boxes of a picture.
//
//   ASSIGN_OR_RETURN(const absl::string_view weights, RegionNetWeights());
//   ASSIGN_OR_RETURN(const auto detector, SceneDetector::FromBytes(weights));
//   ASSIGN_OR_RETURN(const auto regions, detector->Detect(views));
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_SCENES_SCENE_DETECTOR_H_
#define SIGHTLINE_COMMON_TRAINING_SCENES_SCENE_DETECTOR_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/image/image_input.h"
#include "common/scenes/scene_view.h"

namespace sightline {

// What is seen of a picture: a region of each of its proposals, in their order, which says nothing.
// An order by confidence would be another one on another CPU, where two are equal but for rounding.
struct SceneRegions {
  // Features of kRegionFeatures numbers from -1 to 1, boxes, and as confidence the probability that
  // there is something.
  RegionSet regions;
  std::vector<float> soft_labels;   // of each region kRegionClasses probabilities
  std::vector<int> classes;         // the likeliest of these
  std::vector<int> tints, sizes;    // the likeliest SceneTint and SceneSize of each
  std::vector<Proposal> proposals;  // of each
};

// Thread-safe; each call computes in its thread.
class SceneDetector {
 public:
  virtual ~SceneDetector() = default;

  // Of the file that TrainRegionNet gives.  Errors as Safetensors::FromBytes and LoadWeights.
  static absl::StatusOr<std::unique_ptr<SceneDetector>> FromBytes(absl::string_view weights);

  // Of each view.  The same up to rounding on every CPU: features to within 1e-3.
  virtual absl::StatusOr<std::vector<SceneRegions>> Detect(
      absl::Span<const SceneView> views) const = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_SCENES_SCENE_DETECTOR_H_
