// What is to be painted of a scene, as plain values: nothing here knows nouns or captions.
#ifndef SIGHTLINE_COMMON_SCENES_COMPOSITION_H_
#define SIGHTLINE_COMMON_SCENES_COMPOSITION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"

namespace sightline {

struct Rgb {
  uint8_t red = 0, green = 0, blue = 0;
};

inline constexpr int kCanvasSide = 224;
inline constexpr Rgb kCanvasColour = {236, 236, 232};
inline constexpr Rgb kWordColour = {40, 40, 40};

// In pixels from the canvas' upper left corner.
struct PixelBox {
  int x = 0, y = 0, width = 0, height = 0;
};

// A drawing in the middle of a square.
struct PlacedDrawing {
  int drawing = 0;   // of the DrawingSet
  int tint = 0;      // of Tints()
  int side = 0;      // of the square; one of the set's
  int x = 0, y = 0;  // the square's upper left corner
  // In place of the tint: of pictures that are learnt from and belong to no benchmark.
  absl::optional<Rgb> colour = absl::nullopt;
};

struct PlacedWord {
  std::string text;  // of letters A to Z and digits
  int scale = 1;     // pixels a dot of its glyphs
  int x = 0, y = 0;  // upper left corner
  Rgb colour = kWordColour;
};

struct Composition {
  Rgb background = kCanvasColour;
  std::vector<PlacedDrawing> drawings;  // later ones cover earlier ones
  absl::optional<PlacedWord> word;      // covers all of them
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_COMPOSITION_H_
