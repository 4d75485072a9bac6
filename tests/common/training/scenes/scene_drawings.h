// As many drawings as the lock has, made of numbers, so that no package is needed.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_SCENES_SCENE_DRAWINGS_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_SCENES_SCENE_DRAWINGS_H_

#include <cstdint>

#include "common/scenes/drawing_set.h"
#include "common/scenes/drawings.h"
#include "common/scenes/scene_pictures.h"

namespace sightline {

// A noun's drawings are alike: 5 x 5 fields, opaque or not, by the hash of its name.
inline DrawingSet MadeUpSceneDrawings() {
  DrawingSet drawings(SceneSides());
  for (const LockedDrawing& locked : LockedDrawings()) {
    uint32_t hash = 2166136261;  // FNV-1a
    for (const char letter : locked.noun) {
      hash = (hash ^ static_cast<uint8_t>(letter)) * 16777619;
    }
    RgbaPixels raster;
    raster.width = raster.height = 60;
    for (int y = 0; y < 60; ++y) {
      for (int x = 0; x < 60; ++x) {
        const int field = y / 12 * 5 + x / 12;
        const bool border = x == 0 || y == 0 || x == 59 || y == 59;
        const bool opaque = border || (hash >> field & 1) != 0;
        const auto grey = static_cast<uint8_t>(40 + 7 * field);
        raster.rgba.insert(raster.rgba.end(),
                           {grey, grey, grey, static_cast<uint8_t>(opaque ? 255 : 0)});
      }
    }
    drawings.Add(raster);
  }
  return drawings;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_SCENES_SCENE_DRAWINGS_H_
