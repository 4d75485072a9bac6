#include "common/scenes/glyphs.h"

#include <algorithm>
#include <set>
#include <string>

#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr absl::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

std::string Drawn(absl::string_view text) {
  std::string drawn;
  for (int row = 0; row < kGlyphHeight; ++row) {
    for (int column = 0; column < TextWidth(text, 1); ++column) {
      drawn += IsDot(text, column, row) ? '#' : '.';
    }
    drawn += '\n';
  }
  return drawn;
}

TEST_CASE("a text is its glyphs, a column apart") {
  REQUIRE(Drawn("HI7") ==
          "#...#..###..#####\n"
          "#...#...#.......#\n"
          "#...#...#......#.\n"
          "#####...#.....#..\n"
          "#...#...#.....#..\n"
          "#...#...#....#...\n"
          "#...#..###...#...\n");
}

TEST_CASE("there are 36 glyphs, each another one, each as high as all") {
  std::set<std::string> shapes;
  for (const char letter : kAlphabet) {
    const std::string drawn = Drawn(absl::string_view(&letter, 1));
    CAPTURE(letter, drawn);
    shapes.insert(drawn);
    const int line = kGlyphWidth + 1;
    REQUIRE(drawn.substr(0, line).find('#') != std::string::npos);
    REQUIRE(drawn.substr(drawn.size() - line).find('#') != std::string::npos);
  }
  REQUIRE(shapes.size() == kAlphabet.size());
  REQUIRE(HasGlyphs(kAlphabet));
  REQUIRE(HasGlyphs(""));
  for (const char* without : {"a", "STOP!", "A B", "\xC3\x84"}) REQUIRE(!HasGlyphs(without));
}

TEST_CASE("a text's size grows with its letters and its scale") {
  REQUIRE(TextWidth("", 3) == 0);
  REQUIRE(TextWidth("A", 1) == 5);
  REQUIRE(TextWidth("AB", 1) == 11);
  REQUIRE(TextWidth("ABC", 4) == 68);
  REQUIRE(LargestScale("ABC", 68, 28) == 4);
  REQUIRE(LargestScale("ABC", 67, 28) == 3);
  REQUIRE(LargestScale("ABC", 68, 27) == 3);
  REQUIRE(LargestScale("ABC", 16, 100) == 0);
  REQUIRE(LargestScale("", 100, 100) == 0);
}

}  // namespace
}  // namespace sightline
