// The pictures inside a colour bitmap font.
//
// Noto Color Emoji keeps one PNG per glyph in its CBDT table; CBLC says where, cmap says
// which glyph a code point has.  This reads those three tables and nothing else of the
// font.
//
// Source: OpenType 1.9, chapters "CBDT", "CBLC" (with "EBLC" for the index subtables)
// and "cmap".
#ifndef SIGHTLINE_COMMON_DATASET_EMOJI_FONT_H_
#define SIGHTLINE_COMMON_DATASET_EMOJI_FONT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// One picture: `png` points into the font.
struct EmojiBitmap {
  uint32_t code_point = 0;
  absl::string_view png;
};

// The PNG of every single code point that has one, in the largest size that the font
// has, by code point.  Sequences (families, flags, skin tones) have no code point of
// their own and are left out.
//
// InvalidArgument, naming the table, for bytes that are no such font or whose numbers do
// not fit: any bytes are safe to pass, and no more comes back than there are code points.
// A glyph without a bitmap, or whose bitmap is no PNG, is skipped.
absl::StatusOr<std::vector<EmojiBitmap>> ReadEmojiBitmaps(absl::string_view font);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_EMOJI_FONT_H_
