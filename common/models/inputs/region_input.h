// Regions on their way into a network: checked, chosen, and with their boxes as the numbers
// that the checkpoint was trained with.
#ifndef SIGHTLINE_COMMON_MODELS_INPUTS_REGION_INPUT_H_
#define SIGHTLINE_COMMON_MODELS_INPUTS_REGION_INPUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bundle/model_bundle.h"
#include "common/image/image_input.h"

namespace sightline {

// What becomes of a box.  Each family has its own; they cannot be exchanged.
enum class BoxForm {
  kNone,      // not read (SGRAF)
  kAppended,  // x1/W, y1/H, x2/W, y2/H, w/W, h/H, behind the feature (OSCAR, VLDeformer)
  kUniter,    // those six and the area, (w/W)(h/H), apart
  kM3p,       // the four corners and the area between them, apart
  kCorners,   // the four corners, apart (TorchScript)
};

// Numbers of a box: 0, 6, 7, 5, 4.
int BoxNumberCount(BoxForm form);

// How a model reads regions.
struct RegionReading {
  // Numbers in a region's row, those of an appended box included.
  int feature_size = 0;
  BoxForm box_form = BoxForm::kNone;
  // Only the first ones are read.
  int64_t max_count = 0;
  // Of those, all whose confidence is known to be above the floor, and at least min_count.
  float confidence_floor = 0;
  int64_t min_count = 1;
  // An image has exactly so many; 0: any number.
  int64_t required_count = 0;
};

// The bundle's rule for the rows and boxes of a family.
RegionReading RegionReadingOf(const bundle::v1::ModelBundleManifest& manifest, BoxForm box_form);

// Widths of the features that ReadRegions takes, without an appended box first.
std::vector<int> FeatureSizesOf(const RegionReading& reading);

// Regions as a network takes them.
struct RegionNumbers {
  int64_t count = 0;
  std::vector<float> features;  // count x RegionReading::feature_size
  std::vector<float> boxes;     // count x BoxNumberCount, unless appended
};

// Reads regions.  Features that are as wide as the row with an appended box are taken to
// carry it already.
//
// InvalidArgument: regions that do not pass CheckRegionSet; none, or another number than the
// required one; another width; no boxes where they are read.
absl::StatusOr<RegionNumbers> ReadRegions(const RegionSet& regions, const RegionReading& reading);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_INPUTS_REGION_INPUT_H_
