#include "common/scenes/drawing_set.h"

#include "common/scenes/raster.h"

namespace sightline {

void DrawingSet::Add(const RgbaPixels& raster) {
  for (const int side : sides_) scaled_[{size_, side}] = ScaleToFit(raster, side);
  ++size_;
}

const RgbaPixels* DrawingSet::Find(int drawing, int side) const {
  const auto found = scaled_.find({drawing, side});
  return found == scaled_.end() ? nullptr : &found->second;
}

}  // namespace sightline
