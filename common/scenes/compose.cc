#include "common/scenes/compose.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/scenes/glyphs.h"
#include "common/scenes/tint.h"

namespace sightline {
namespace {

uint8_t* PixelOf(Pixels& canvas, int x, int y) {
  return &canvas.rgb[(static_cast<size_t>(y) * canvas.width + x) * 3];
}

void Paint(const Rgb& colour, uint8_t* pixel) {
  pixel[0] = colour.red;
  pixel[1] = colour.green;
  pixel[2] = colour.blue;
}

uint8_t Blend(int colour, int alpha, int below) {
  return static_cast<uint8_t>((colour * alpha + below * (255 - alpha) + 127) / 255);
}

bool OnCanvas(int at, int length) {
  return at >= 0 && length >= 0 && length <= kCanvasSide && at <= kCanvasSide - length;
}

absl::Status LeavesCanvas(absl::string_view what, int x, int y, int width, int height) {
  return absl::InvalidArgumentError(absl::StrCat(what, " at ", x, ", ", y, " of ", width, " x ",
                                                 height, " pixels leaves the canvas of ",
                                                 kCanvasSide, " x ", kCanvasSide));
}

Pixels EmptyCanvas(const Rgb& background) {
  Pixels canvas;
  canvas.width = canvas.height = kCanvasSide;
  canvas.rgb.resize(size_t{3} * kCanvasSide * kCanvasSide);
  for (size_t i = 0; i < canvas.rgb.size(); i += 3) Paint(background, &canvas.rgb[i]);
  return canvas;
}

absl::StatusOr<Tint> TintOf(const PlacedDrawing& placed) {
  if (placed.colour) return Tint{"", *placed.colour};
  if (placed.tint < 0 || placed.tint >= static_cast<int>(Tints().size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no tint ", placed.tint, " of ", Tints().size()));
  }
  return Tints()[placed.tint];
}

absl::Status PaintDrawing(const PlacedDrawing& placed, const DrawingSet& drawings, Pixels& canvas) {
  ASSIGN_OR_RETURN(const PixelBox box, BoxOf(placed, drawings));
  ASSIGN_OR_RETURN(const Tint tint, TintOf(placed));
  const RgbaPixels raster = Tinted(*drawings.Find(placed.drawing, placed.side), tint);
  const uint8_t* source = raster.rgba.data();
  for (int y = 0; y < box.height; ++y) {
    uint8_t* target = PixelOf(canvas, box.x, box.y + y);
    for (int x = 0; x < box.width; ++x, source += 4, target += 3) {
      for (int c = 0; c < 3; ++c) target[c] = Blend(source[c], source[3], target[c]);
    }
  }
  return absl::OkStatus();
}

absl::Status PaintWord(const PlacedWord& word, Pixels& canvas) {
  if (word.text.empty() || word.text.size() > kCanvasSide || !HasGlyphs(word.text)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the word \"", word.text, "\" is not made of letters A to Z and digits alone"));
  }
  if (word.scale < 1 || word.scale > kCanvasSide) {
    return absl::InvalidArgumentError(
        absl::StrCat("a word's scale is from 1 to ", kCanvasSide, ", not ", word.scale));
  }
  const int width = TextWidth(word.text, word.scale), height = kGlyphHeight * word.scale;
  if (!OnCanvas(word.x, width) || !OnCanvas(word.y, height)) {
    return LeavesCanvas("the word", word.x, word.y, width, height);
  }
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (!IsDot(word.text, x / word.scale, y / word.scale)) continue;
      Paint(word.colour, PixelOf(canvas, word.x + x, word.y + y));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PixelBox> BoxOf(const PlacedDrawing& placed, const DrawingSet& drawings) {
  const RgbaPixels* const raster = drawings.Find(placed.drawing, placed.side);
  if (raster == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("there is no drawing ", placed.drawing, " of ",
                                                   drawings.size(), " with a side of ", placed.side,
                                                   " pixels"));
  }
  if (!OnCanvas(placed.x, placed.side) || !OnCanvas(placed.y, placed.side)) {
    return LeavesCanvas("the square", placed.x, placed.y, placed.side, placed.side);
  }
  return PixelBox{placed.x + (placed.side - raster->width) / 2,
                  placed.y + (placed.side - raster->height) / 2, raster->width, raster->height};
}

absl::StatusOr<Pixels> Compose(const Composition& composition, const DrawingSet& drawings) {
  Pixels canvas = EmptyCanvas(composition.background);
  for (const PlacedDrawing& placed : composition.drawings) {
    RETURN_IF_ERROR(PaintDrawing(placed, drawings, canvas));
  }
  if (composition.word) RETURN_IF_ERROR(PaintWord(*composition.word, canvas));
  return canvas;
}

}  // namespace sightline
