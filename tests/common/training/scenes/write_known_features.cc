// Writes known_features.txt anew, after the weights were trained anew:
//   bazel run //tests/common/training/scenes:write_known_features > FILE
#include <cstdio>
#include <map>

#include "absl/strings/str_format.h"
#include "common/scenes/region_net_weights.h"
#include "common/training/scenes/region_classes.h"
#include "common/training/scenes/scene_detector.h"
#include "tests/common/training/scenes/known_views.h"

int main() {
  using namespace sightline;  // NOLINT(google-build-using-namespace): a program of one function
  const auto detector = SceneDetector::FromBytes(*RegionNetWeights());
  const std::vector<SceneView> views = KnownViews();
  const auto seen = (*detector)->Detect(views);
  for (size_t v = 0; v < views.size(); ++v) {
    for (size_t place = 0; place < views[v].proposals.size(); ++place) {
      for (int i = 0; i < kRegionFeatures; ++i) {
        absl::PrintF("%s%.4f", i == 0 ? "" : " ",
                     (*seen)[v].regions.features[place * kRegionFeatures + i]);
      }
      absl::PrintF("\n");
    }
  }
  return 0;
}
