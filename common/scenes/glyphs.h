// The alphabet of the words that are drawn into scenes: A to Z and 0 to 9, of 5 x 7 dots each,
// drawn for this purpose.
#ifndef SIGHTLINE_COMMON_SCENES_GLYPHS_H_
#define SIGHTLINE_COMMON_SCENES_GLYPHS_H_

#include "absl/strings/string_view.h"

namespace sightline {

inline constexpr int kGlyphWidth = 5;
inline constexpr int kGlyphHeight = 7;
inline constexpr int kGlyphGap = 1;  // between two glyphs
inline constexpr int kGlyphAdvance = kGlyphWidth + kGlyphGap;

// Whether there is a glyph for each character.
bool HasGlyphs(absl::string_view text);

// In pixels, with `scale` pixels a dot.  The height is kGlyphHeight * scale.
int TextWidth(absl::string_view text, int scale);

// The largest scale at which `text` fits into `width` x `height` pixels; 0: it does not, or is
// empty.
int LargestScale(absl::string_view text, int width, int height);

// Whether the dot is set in the text at scale 1; a character without a glyph has none.
// REQUIRES: `column` from 0 and below TextWidth(text, 1), `row` from 0 and below kGlyphHeight.
bool IsDot(absl::string_view text, int column, int row);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_GLYPHS_H_
