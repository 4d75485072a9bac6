// The eight colours that drawings of Sightline Scenes have.
//
// A tinted drawing keeps its shape and its shading and nothing of its own colours.  Its mean
// luminance becomes the tint itself, what is darker a shade of it and what is lighter a paler
// one, by its distance from the mean over the mean distance.  So a black silhouette, a pale
// pencil drawing and a photograph in the same tint are of one colour.
#ifndef SIGHTLINE_COMMON_SCENES_TINT_H_
#define SIGHTLINE_COMMON_SCENES_TINT_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/image/decode.h"
#include "common/scenes/composition.h"

namespace sightline {

struct Tint {
  absl::string_view name;
  Rgb colour;
};

// Red, orange, yellow, green, blue, purple, pink and brown.  The order is part of the benchmark.
absl::Span<const Tint> Tints();

// `raster` in the colour of `tint`; alpha stays.  By integers, the same everywhere.
RgbaPixels Tinted(RgbaPixels raster, const Tint& tint);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_TINT_H_
