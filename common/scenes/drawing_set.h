// Drawings in the sizes in which scenes have them.
#ifndef SIGHTLINE_COMMON_SCENES_DRAWING_SET_H_
#define SIGHTLINE_COMMON_SCENES_DRAWING_SET_H_

#include <map>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/image/decode.h"

namespace sightline {

// Immutable once it is filled, then thread-safe.
class DrawingSet {
 public:
  // `sides` in pixels, each at least 1.
  explicit DrawingSet(std::vector<int> sides) : sides_(std::move(sides)) {}

  // Scales `raster` to each side; it is the next drawing, the first one number 0.  REQUIRES: as
  // ScaleToFit.
  void Add(const RgbaPixels& raster);

  int size() const { return size_; }

  // The drawing with its longer side `side`, valid as long as the set; null if there is no such
  // drawing or the set has no such side.
  const RgbaPixels* Find(int drawing, int side) const;

 private:
  std::vector<int> sides_;
  int size_ = 0;
  std::map<std::pair<int, int>, RgbaPixels> scaled_;  // by drawing and side
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_DRAWING_SET_H_
