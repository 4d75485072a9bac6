// Painting of scenes.
#ifndef SIGHTLINE_COMMON_SCENES_COMPOSE_H_
#define SIGHTLINE_COMMON_SCENES_COMPOSE_H_

#include "absl/status/statusor.h"
#include "common/image/image_input.h"
#include "common/scenes/composition.h"
#include "common/scenes/drawing_set.h"

namespace sightline {

// The picture of kCanvasSide x kCanvasSide pixels.  By integers alone: byte for byte the same
// with every compiler and on every CPU.  A channel is (colour * alpha + below * (255 - alpha) +
// 127) / 255, rounded down.  InvalidArgument: a drawing or side that the set lacks, a tint that
// is none, a square or word that leaves the canvas, a word without glyphs.  Thread-safe.
absl::StatusOr<Pixels> Compose(const Composition& composition, const DrawingSet& drawings);

// What of the canvas a drawing of the set fills: its raster's box in the middle of its square.
// Errors as Compose.
absl::StatusOr<PixelBox> BoxOf(const PlacedDrawing& placed, const DrawingSet& drawings);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_COMPOSE_H_
