#include "common/training/scenes/detector_accuracy.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/scenes/drawings.h"
#include "common/scenes/lexicon.h"
#include "common/scenes/scene_pictures.h"
#include "common/training/scenes/region_classes.h"

namespace sightline {
namespace {

constexpr int64_t kPicturesAtOnce = 16;

// A picture with what is truly on it.
struct KnownScene {
  Composition scene;
  SceneView view;
};

absl::StatusOr<KnownScene> DrawKnownScene(const DrawingSet& drawings, SceneKind kind,
                                          Random* random) {
  KnownScene known;
  ASSIGN_OR_RETURN(known.scene, CompositionOf(LayOut(DrawScene(kind, random))));
  ASSIGN_OR_RETURN(known.view, ViewScene(known.scene, drawings, random));
  return known;
}

bool ShowsNoun(const PlacedDrawing& placed, int region_class) {
  if (region_class == kNothing) return false;
  return Nouns()[NounOfClass(region_class)].id == LockedDrawings()[placed.drawing].noun;
}

void Count(const Composition& scene, const SceneRegions& seen, DetectorAccuracy* accuracy) {
  const std::vector<int> sides = SceneSides();
  for (size_t i = 0; i < seen.proposals.size(); ++i) {
    if (seen.proposals[i].copy < 0) {
      ++accuracy->false_proposals;
      accuracy->rejected += seen.classes[i] == kNothing;
      continue;
    }
    const PlacedDrawing& placed = scene.drawings[seen.proposals[i].copy];
    ++accuracy->copies;
    accuracy->nouns += ShowsNoun(placed, seen.classes[i]);
    accuracy->tints += placed.tint == seen.tints[i];
    accuracy->sizes += placed.side == sides[seen.sizes[i]];
  }
}

double Percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

absl::StatusOr<DetectorAccuracy> MeasureDetector(const SceneDetector& detector,
                                                 const DrawingSet& drawings, SceneKind kind,
                                                 int64_t pictures, uint64_t seed,
                                                 const CallContext& call) {
  DetectorAccuracy accuracy;
  Random random(seed);
  for (int64_t first = 0; first < pictures; first += kPicturesAtOnce) {
    RETURN_IF_ERROR(call.Check("measure the detector"));
    std::vector<Composition> scenes;
    std::vector<SceneView> views;
    for (int64_t i = first; i < std::min(pictures, first + kPicturesAtOnce); ++i) {
      ASSIGN_OR_RETURN(KnownScene known, DrawKnownScene(drawings, kind, &random));
      scenes.push_back(std::move(known.scene));
      views.push_back(std::move(known.view));
    }
    ASSIGN_OR_RETURN(const std::vector<SceneRegions> seen, detector.Detect(views));
    for (size_t i = 0; i < seen.size(); ++i) Count(scenes[i], seen[i], &accuracy);
  }
  return accuracy;
}

std::string AccuracyLine(SceneKind kind, const DetectorAccuracy& accuracy) {
  return absl::StrFormat(
      "%-15s  nouns %5.1f %%  tints %5.1f %%  sizes %5.1f %% of %d;  rejected %5.1f %% of %d",
      Name(kind), Percent(accuracy.nouns, accuracy.copies),
      Percent(accuracy.tints, accuracy.copies), Percent(accuracy.sizes, accuracy.copies),
      accuracy.copies, Percent(accuracy.rejected, accuracy.false_proposals),
      accuracy.false_proposals);
}

}  // namespace sightline
