// Builds colour bitmap fonts of a few glyphs, right ones and wrong ones.
#ifndef SIGHTLINE_TESTS_COMMON_DATASET_TINY_FONT_H_
#define SIGHTLINE_TESTS_COMMON_DATASET_TINY_FONT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sightline {

// Big-endian bytes, appended.
class FontBytes {
 public:
  FontBytes& U8(uint32_t v) {
    bytes_ += static_cast<char>(v);
    return *this;
  }
  FontBytes& U16(uint32_t v) { return U8(v >> 8 & 255).U8(v & 255); }
  FontBytes& U32(uint32_t v) { return U16(v >> 16).U16(v & 65535); }
  FontBytes& Raw(const std::string& raw) {
    bytes_ += raw;
    return *this;
  }
  size_t size() const { return bytes_.size(); }
  const std::string& str() const { return bytes_; }

 private:
  std::string bytes_;
};

struct TinyGlyph {
  uint32_t code_point;
  std::string image;  // of the glyph: the PNG
};

struct TinyFontShape {
  int index_format = 1;   // of CBLC: 1 to 5
  int image_format = 17;  // of CBDT: 17, 18 or 19
  // A second, smaller strike whose images are wrong: only the largest may be read.
  bool second_strike = false;
  uint32_t cbdt_cut = 0;  // bytes missing at the end of CBDT's declared length
};

inline std::string TinyPng(const std::string& body) {
  return "\x89PNG\r\n\x1a\n" + body;
}

// A font whose glyph i + 1 is glyphs[i].  Code points ascend.
inline std::string MakeTinyFont(const std::vector<TinyGlyph>& glyphs,
                                const TinyFontShape& shape = {}) {
  const uint32_t count = static_cast<uint32_t>(glyphs.size());
  FontBytes cbdt;
  cbdt.U16(3).U16(0);
  std::vector<uint32_t> offsets;
  const uint32_t image_base = 4;
  for (const TinyGlyph& glyph : glyphs) {
    offsets.push_back(static_cast<uint32_t>(cbdt.size()) - image_base);
    if (glyph.image.empty()) continue;
    for (int i = 0; i < (shape.image_format == 17 ? 5 : shape.image_format == 18 ? 8 : 0); ++i) {
      cbdt.U8(7);
    }
    cbdt.U32(static_cast<uint32_t>(glyph.image.size())).Raw(glyph.image);
  }
  offsets.push_back(static_cast<uint32_t>(cbdt.size()) - image_base);

  FontBytes subtable;
  subtable.U16(shape.index_format).U16(shape.image_format).U32(image_base);
  const FontBytes metrics = FontBytes().U32(0).U32(0);
  switch (shape.index_format) {
    case 1:
      for (const uint32_t offset : offsets) subtable.U32(offset);
      break;
    case 2:
      subtable.U32(offsets[1]).Raw(metrics.str());
      break;
    case 3:
      for (const uint32_t offset : offsets) subtable.U16(offset);
      break;
    case 4:
      subtable.U32(count);
      for (uint32_t i = 0; i <= count; ++i) subtable.U16(i + 1).U16(offsets[i]);
      break;
    case 5:
      subtable.U32(offsets[1]).Raw(metrics.str()).U32(count);
      for (uint32_t i = 0; i < count; ++i) subtable.U16(i + 1);
      break;
  }

  const uint32_t strikes = shape.second_strike ? 2 : 1;
  const uint32_t array = 8 + 48 * strikes;
  FontBytes cblc;
  cblc.U16(3).U16(0).U32(strikes);
  const auto strike = [&](uint32_t array_offset, uint32_t ppem) {
    cblc.U32(array_offset).U32(0).U32(1).U32(0);
    for (int i = 0; i < 6; ++i) cblc.U32(0);
    cblc.U16(1).U16(count).U8(ppem).U8(ppem).U8(32).U8(1);
  };
  // The wrong strike comes first, so that taking the first one would be seen.
  if (shape.second_strike) strike(/*array_offset=*/0xFFFFFF, /*ppem=*/20);
  strike(array, 109);
  cblc.U16(1).U16(count).U32(8).Raw(subtable.str());

  FontBytes cmap;
  cmap.U16(0).U16(1).U16(3).U16(10).U32(12);
  cmap.U16(12).U16(0).U32(16 + 12 * count).U32(0).U32(count);
  for (uint32_t i = 0; i < count; ++i) {
    cmap.U32(glyphs[i].code_point).U32(glyphs[i].code_point).U32(i + 1);
  }

  const std::vector<std::pair<std::string, std::string>> tables = {
      {"CBDT", cbdt.str()}, {"CBLC", cblc.str()}, {"cmap", cmap.str()}};
  FontBytes font;
  font.U32(0x00010000).U16(static_cast<uint32_t>(tables.size())).U16(0).U16(0).U16(0);
  uint32_t offset = 12 + 16 * static_cast<uint32_t>(tables.size());
  for (const auto& [tag, bytes] : tables) {
    const uint32_t cut = tag == "CBDT" ? shape.cbdt_cut : 0;
    font.Raw(tag).U32(0).U32(offset).U32(static_cast<uint32_t>(bytes.size()) - cut);
    offset += static_cast<uint32_t>(bytes.size());
  }
  for (const auto& [tag, bytes] : tables) font.Raw(bytes);
  return font.str();
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_DATASET_TINY_FONT_H_
