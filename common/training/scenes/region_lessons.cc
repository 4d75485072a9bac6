#include "common/training/scenes/region_lessons.h"

#include <algorithm>
#include <cmath>

#include "common/base/status_macros.h"
#include "common/scenes/drawings.h"
#include "common/scenes/lexicon.h"
#include "common/scenes/region_crop.h"
#include "common/scenes/scene_draws.h"
#include "common/scenes/scene_pictures.h"
#include "common/training/scenes/region_classes.h"

namespace sightline {
namespace {

// A copy on a lesson's picture.
struct TaughtCopy {
  int noun = 0;
  int64_t tint = kUntaught;
  int64_t size = kUntaught;
};

uint8_t Channel(double value) {
  return static_cast<uint8_t>(std::lround(255 * value));
}

// Saturation and value as those of the tints, and somewhat beyond.
Rgb DrawColour(Random* random) {
  const double hue = random->Between(0, 6);  // in sixths of the circle, from red
  const double saturation = random->Between(0.35, 1), value = random->Between(0.4, 1);
  const auto channel = [&](double away) {
    const double k = std::fmod(away + hue, 6);
    return Channel(value - value * saturation * std::clamp(std::min(k, 4 - k), 0.0, 1.0));
  };
  return {channel(5), channel(3), channel(1)};
}

SceneTint DrawShownTint(int noun, Random* random) {
  const int step = 1 + static_cast<int>(random->Below(kTintCount - 1));
  return static_cast<SceneTint>((static_cast<int>(HeldOutTint(noun)) + step) % kTintCount);
}

int64_t SizeOfSide(int side) {
  const std::vector<int> sides = SceneSides();
  return std::find(sides.begin(), sides.end(), side) - sides.begin();
}

// Makes a copy another drawing, in the same place.
TaughtCopy Recast(LessonColours colours, Random* random, PlacedDrawing* placed) {
  TaughtCopy copy;
  copy.noun = static_cast<int>(random->Below(static_cast<int64_t>(Nouns().size())));
  const Noun& noun = Nouns()[copy.noun];
  placed->drawing = DrawingNumber(noun.id, static_cast<int>(random->Below(noun.drawings - 1)));
  copy.size = SizeOfSide(placed->side);
  if (colours == LessonColours::kAny) {
    placed->colour = DrawColour(random);
  } else {
    placed->tint = static_cast<int>(DrawShownTint(copy.noun, random));
    copy.tint = placed->tint;
  }
  return copy;
}

int64_t ClassOf(const Proposal& proposal, const std::vector<TaughtCopy>& copies) {
  return proposal.copy < 0 ? kNothing : ClassOfNoun(copies[proposal.copy].noun);
}

}  // namespace

void AppendSight(const Pixels& canvas, const PixelBox& box, std::vector<uint8_t>* crops,
                 std::vector<float>* boxes) {
  crops->resize(crops->size() + kRegionBytes);
  CropRegion(canvas, box, &(*crops)[crops->size() - kRegionBytes]);
  boxes->push_back(static_cast<float>(box.width) / kCanvasSide);
  boxes->push_back(static_cast<float>(box.height) / kCanvasSide);
}

absl::Status AppendLessons(const DrawingSet& drawings, LessonColours colours, Random* random,
                           RegionLessons* lessons) {
  ASSIGN_OR_RETURN(Composition scene, CompositionOf(LayOut(DrawScene(SceneKind::kPlain, random))));
  std::vector<TaughtCopy> copies;
  for (PlacedDrawing& placed : scene.drawings) copies.push_back(Recast(colours, random, &placed));
  ASSIGN_OR_RETURN(const SceneView view, ViewScene(scene, drawings, random));
  for (const Proposal& proposal : view.proposals) {
    AppendSight(view.canvas, proposal.box, &lessons->crops, &lessons->boxes);
    const bool is_false = proposal.copy < 0;
    // In tints not even nothing is taught: were it the only class that has them, it would be
    // theirs.
    lessons->classes.push_back(colours == LessonColours::kAny ? ClassOf(proposal, copies)
                                                              : kUntaught);
    lessons->tints.push_back(is_false ? kUntaught : copies[proposal.copy].tint);
    lessons->sizes.push_back(is_false ? kUntaught : copies[proposal.copy].size);
  }
  return absl::OkStatus();
}

}  // namespace sightline
