#include "common/scenes/compose.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/checksum.h"
#include "common/scenes/tint.h"
#include "tests/common/scenes/some_rasters.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes PixelAt(const Pixels& picture, int x, int y) {
  const auto at = picture.rgb.begin() + (size_t(y) * picture.width + x) * 3;
  return Bytes(at, at + 3);
}

std::string Sha256Of(const Composition& composition) {
  const auto picture = Compose(composition, SomeDrawings());
  INFO(picture.status().ToString());
  REQUIRE(picture.ok());
  return Sha256Hex(
      absl::string_view(reinterpret_cast<const char*>(picture->rgb.data()), picture->rgb.size()));
}

// Every drawing in every tint and both sizes, overlapping, with a word.
Composition Crowd() {
  Composition crowd;
  for (int i = 0; i < 48; ++i) {
    crowd.drawings.push_back({i % 3, i % 8, i % 2 ? 20 : 33, 5 + 24 * (i % 8), 9 + 29 * (i / 8)});
  }
  crowd.word = PlacedWord{"OPEN24", 3, 60, 190, {10, 200, 30}};
  return crowd;
}

TEST_CASE("pictures have the bytes that every machine gives them") {
  REQUIRE(Sha256Of(Composition()) ==
          "4ef577bb9ed92aa2eade1502dea6e46b0c9edd7eb4ed2ad4a2a9fcd9cd9a61fe");
  REQUIRE(Sha256Of(Crowd()) == "f65317392d6267de57a90ed665b53b1e0fa01108dd20970b1a787d6eb3996bec");
}

TEST_CASE("the background is everywhere where nothing is") {
  Composition composition;
  composition.background = {1, 2, 3};
  const auto picture = Compose(composition, SomeDrawings());
  REQUIRE(picture.ok());
  REQUIRE(picture->width == kCanvasSide);
  REQUIRE(picture->height == kCanvasSide);
  REQUIRE(picture->rgb.size() == size_t{3} * kCanvasSide * kCanvasSide);
  REQUIRE(PixelAt(*picture, 0, 0) == Bytes{1, 2, 3});
  REQUIRE(PixelAt(*picture, 223, 223) == Bytes{1, 2, 3});
}

TEST_CASE("a drawing has a colour of its own where it is given one") {
  Composition tinted, coloured;
  tinted.drawings = {{0, 4, 33, 20, 30}};
  coloured.drawings = {{0, -1, 33, 20, 30, Tints()[4].colour}};
  REQUIRE(Sha256Of(coloured) == Sha256Of(tinted));
  coloured.drawings[0].colour = Rgb{1, 2, 3};
  REQUIRE(Sha256Of(coloured) != Sha256Of(tinted));
}

TEST_CASE("a drawing lies in the middle of its square, and covers by its alpha") {
  DrawingSet drawings({10});
  drawings.Add(PlainRaster(10, 4, 0, 0, 0, 255));
  drawings.Add(PlainRaster(10, 10, 0, 0, 0, 51));
  Composition composition;
  composition.background = {100, 100, 100};
  composition.drawings = {{0, 0, 10, 20, 30}, {1, 4, 10, 60, 60}};
  const auto picture = Compose(composition, drawings);
  REQUIRE(picture.ok());

  const auto box = BoxOf(composition.drawings[0], drawings);
  REQUIRE(box.ok());
  REQUIRE(box->x == 20);
  REQUIRE(box->y == 33);
  REQUIRE(box->width == 10);
  REQUIRE(box->height == 4);
  const Rgb red = Tints()[0].colour, blue = Tints()[4].colour;
  REQUIRE(PixelAt(*picture, 20, 33) == Bytes{red.red, red.green, red.blue});
  REQUIRE(PixelAt(*picture, 29, 36) == Bytes{red.red, red.green, red.blue});
  for (const auto& [x, y] : {std::pair<int, int>{20, 32}, {20, 37}, {19, 33}, {30, 33}}) {
    REQUIRE(PixelAt(*picture, x, y) == Bytes{100, 100, 100});
  }
  // A fifth of the tint over four fifths of the background.
  const auto mixed = [](int colour) { return static_cast<uint8_t>((colour + 400 + 2) / 5); };
  REQUIRE(PixelAt(*picture, 65, 65) == Bytes{mixed(blue.red), mixed(blue.green), mixed(blue.blue)});
}

TEST_CASE("later drawings cover earlier ones, and a word covers all") {
  DrawingSet drawings({10});
  drawings.Add(PlainRaster(10, 10, 0, 0, 0, 255));
  Composition composition;
  composition.drawings = {{0, 0, 10, 20, 20}, {0, 3, 10, 25, 20}};
  composition.word = PlacedWord{"I", 2, 20, 24, {7, 8, 9}};
  const auto picture = Compose(composition, drawings);
  REQUIRE(picture.ok());
  const Rgb red = Tints()[0].colour, green = Tints()[3].colour;
  REQUIRE(PixelAt(*picture, 24, 20) == Bytes{red.red, red.green, red.blue});
  REQUIRE(PixelAt(*picture, 25, 20) == Bytes{green.red, green.green, green.blue});
  // The upper bar of the letter: dots 1 to 3 of its first row, two pixels each.
  REQUIRE(PixelAt(*picture, 22, 24) == Bytes{7, 8, 9});
  REQUIRE(PixelAt(*picture, 27, 25) == Bytes{7, 8, 9});
  REQUIRE(PixelAt(*picture, 21, 24) == Bytes{red.red, red.green, red.blue});
  REQUIRE(PixelAt(*picture, 28, 24) == Bytes{green.red, green.green, green.blue});
}

TEST_CASE("what cannot be painted is refused, and named") {
  const auto refusal = [](const Composition& composition) {
    const absl::Status status = Compose(composition, SomeDrawings()).status();
    REQUIRE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  const auto drawing = [&](PlacedDrawing placed) {
    Composition composition;
    composition.drawings = {placed};
    return refusal(composition);
  };
  REQUIRE_THAT(drawing({3, 0, 20, 0, 0}), Catch::Contains("no drawing 3 of 3"));
  REQUIRE_THAT(drawing({-1, 0, 20, 0, 0}), Catch::Contains("no drawing -1"));
  REQUIRE_THAT(drawing({0, 0, 21, 0, 0}), Catch::Contains("side of 21"));
  REQUIRE_THAT(drawing({0, 8, 20, 0, 0}), Catch::Contains("no tint 8"));
  REQUIRE_THAT(drawing({0, -1, 20, 0, 0}), Catch::Contains("no tint -1"));
  for (const auto& [x, y] :
       {std::pair<int, int>{-1, 0}, {0, -1}, {205, 0}, {0, 205}, {2147483647, 0}}) {
    REQUIRE_THAT(drawing({0, 0, 20, x, y}), Catch::Contains("leaves the canvas"));
  }

  const auto word = [&](const PlacedWord& placed) {
    Composition composition;
    composition.word = placed;
    return refusal(composition);
  };
  REQUIRE_THAT(word({"", 1, 0, 0, {}}), Catch::Contains("letters"));
  REQUIRE_THAT(word({"stop", 1, 0, 0, {}}), Catch::Contains("stop"));
  REQUIRE_THAT(word({"STOP", 0, 0, 0, {}}), Catch::Contains("not 0"));
  REQUIRE_THAT(word({"STOP", 10, 0, 0, {}}), Catch::Contains("leaves the canvas"));
  REQUIRE_THAT(word({"STOP", 1, 202, 0, {}}), Catch::Contains("leaves the canvas"));
  REQUIRE_THAT(word({"STOP", 1, 0, 218, {}}), Catch::Contains("leaves the canvas"));
  REQUIRE_THAT(word({std::string(1000, 'A'), 224, 0, 0, {}}), Catch::Contains("letters"));
}

}  // namespace
}  // namespace sightline
