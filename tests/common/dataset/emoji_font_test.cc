#include "common/dataset/emoji_font.h"

#include <algorithm>
#include <cstring>

#include "tests/common/dataset/tiny_font.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const std::vector<TinyGlyph>& Glyphs() {
  static const auto* glyphs = new std::vector<TinyGlyph>{
      {0x23ef, TinyPng("play")}, {0x1f41f, TinyPng("fish")}, {0x1f438, TinyPng("frog")}};
  return *glyphs;
}

std::string Describe(const absl::StatusOr<std::vector<EmojiBitmap>>& bitmaps) {
  if (!bitmaps.ok()) return std::string(bitmaps.status().message());
  std::string text;
  char hex[16];
  for (const EmojiBitmap& bitmap : *bitmaps) {
    std::snprintf(hex, sizeof(hex), "%x=", bitmap.code_point);
    text += hex + std::string(bitmap.png.substr(8)) + " ";
  }
  return text;
}

TEST_CASE("PNGs are found in every format of index and image") {
  for (int index_format = 1; index_format <= 5; ++index_format) {
    for (const int image_format : {17, 18, 19}) {
      CAPTURE(index_format, image_format);
      TinyFontShape shape;
      shape.index_format = index_format;
      shape.image_format = image_format;
      REQUIRE(Describe(ReadEmojiBitmaps(MakeTinyFont(Glyphs(), shape))) ==
              "23ef=play 1f41f=fish 1f438=frog ");
    }
  }
}

TEST_CASE("the largest strike is read") {
  TinyFontShape shape;
  shape.second_strike = true;
  REQUIRE(Describe(ReadEmojiBitmaps(MakeTinyFont(Glyphs(), shape))) ==
          "23ef=play 1f41f=fish 1f438=frog ");
}

TEST_CASE("glyphs without an image, or with one that is no PNG, are skipped") {
  std::vector<TinyGlyph> glyphs = Glyphs();
  glyphs[0].image = "";
  glyphs[1].image = "GIF89a, not a PNG";
  REQUIRE(Describe(ReadEmojiBitmaps(MakeTinyFont(glyphs))) == "1f438=frog ");
  TinyFontShape shape;
  shape.image_format = 1;  // a monochrome bitmap
  REQUIRE(Describe(ReadEmojiBitmaps(MakeTinyFont(Glyphs(), shape))) == "");
}

TEST_CASE("code points that lead to one glyph each get its picture") {
  const std::string font = MakeTinyFont(Glyphs());
  // The second group maps to glyph 1 too.
  std::string shared = font;
  const size_t cmap = shared.size() - (12 + 16 + 3 * 12);
  shared[cmap + 12 + 16 + 12 + 11] = 1;
  REQUIRE(Describe(ReadEmojiBitmaps(shared)) == "23ef=play 1f41f=play 1f438=frog ");
}

TEST_CASE("a font cut anywhere gives an error or fewer pictures, never anything else") {
  for (int index_format = 1; index_format <= 5; ++index_format) {
    TinyFontShape shape;
    shape.index_format = index_format;
    const std::string font = MakeTinyFont(Glyphs(), shape);
    for (size_t length = 0; length < font.size(); ++length) {
      CAPTURE(index_format, length);
      // Of its own size, so that a sanitizer sees each byte read beyond the end.
      std::vector<char> cut(font.begin(), font.begin() + length);
      const auto bitmaps = ReadEmojiBitmaps(absl::string_view(cut.data(), cut.size()));
      REQUIRE(absl::IsInvalidArgument(bitmaps.status()));
    }
  }
}

TEST_CASE("every byte may lie") {
  const std::string font = MakeTinyFont(Glyphs());
  for (size_t i = 0; i < font.size(); ++i) {
    for (const int value : {0, 1, 127, 128, 255}) {
      std::string bent = font;
      bent[i] = static_cast<char>(value);
      const auto bitmaps = ReadEmojiBitmaps(bent);
      if (!bitmaps.ok()) {
        REQUIRE(absl::IsInvalidArgument(bitmaps.status()));
        continue;
      }
      for (const EmojiBitmap& bitmap : *bitmaps) {
        REQUIRE(bitmap.png.data() >= bent.data());
        REQUIRE(bitmap.png.data() + bitmap.png.size() <= bent.data() + bent.size());
      }
    }
  }
}

TEST_CASE("errors name the table") {
  TinyFontShape shape;
  shape.cbdt_cut = 3;
  REQUIRE_THAT(Describe(ReadEmojiBitmaps(MakeTinyFont(Glyphs(), shape))), Catch::Contains("CBDT"));
  std::string font = MakeTinyFont(Glyphs());
  REQUIRE_THAT(Describe(ReadEmojiBitmaps("hello, world")), Catch::Contains("not an OpenType font"));
  std::string no_cblc = font;
  no_cblc.replace(no_cblc.find("CBLC"), 4, "EBLC");
  REQUIRE_THAT(Describe(ReadEmojiBitmaps(no_cblc)), Catch::Contains("table CBLC: missing"));
  REQUIRE_THAT(Describe(ReadEmojiBitmaps(MakeTinyFont({{9, TinyPng("a")}, {8, TinyPng("b")}}))),
               Catch::Contains("cmap"));
}

}  // namespace
}  // namespace sightline
