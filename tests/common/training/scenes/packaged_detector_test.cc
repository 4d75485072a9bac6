// The committed net over Debian's drawings, where they are: it sees as much as its README says.
#include <memory>

#include "common/scenes/drawings.h"
#include "common/scenes/region_net_weights.h"
#include "common/scenes/scene_pictures.h"
#include "common/training/scenes/detector_accuracy.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

struct Bounds {
  SceneKind kind;
  double nouns, tints, sizes, rejected;  // shares, at least
};

double Share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

TEST_CASE("the committed net sees nouns, tints and sizes, and tells what is nothing") {
  const auto corpora = OpenDrawingCorpora();
  if (!corpora.ok()) {
    WARN("left out: " << corpora.status().message());
    return;
  }
  const auto drawings = ReadDrawings(LockedDrawings(), *corpora, SceneSides());
  INFO(drawings.status().ToString());
  REQUIRE(drawings.ok());
  const auto detector = *SceneDetector::FromBytes(*RegionNetWeights());
  for (const Bounds& bounds : {Bounds{SceneKind::kPlain, 0.97, 0.98, 0.93, 0.96},
                               Bounds{SceneKind::kNewDrawing, 0.22, 0.98, 0.8, 0.96},
                               Bounds{SceneKind::kNewCombination, 0.96, 0.98, 0.93, 0.96}}) {
    const auto accuracy = MeasureDetector(*detector, *drawings, bounds.kind, 100, /*seed=*/3,
                                          CallContext::Unbounded());
    REQUIRE(accuracy.ok());
    INFO(AccuracyLine(bounds.kind, *accuracy));
    CHECK(Share(accuracy->nouns, accuracy->copies) >= bounds.nouns);
    CHECK(Share(accuracy->tints, accuracy->copies) >= bounds.tints);
    CHECK(Share(accuracy->sizes, accuracy->copies) >= bounds.sizes);
    CHECK(Share(accuracy->rejected, accuracy->false_proposals) >= bounds.rejected);
  }
}

}  // namespace
}  // namespace sightline
