// Debian's drawings, where they are: they have the pixels that the lock says, and scenes made of
// them have the bytes that every machine gives them.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/base/checksum.h"
#include "common/scenes/compose.h"
#include "common/scenes/drawings.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

bool PackagesAreThere() {
  for (const char* folder :
       {"/usr/share/tuxpaint/stamps", "/usr/share/openclipart/png", "/usr/share/openclipart/svg"}) {
    if (!std::filesystem::is_directory(folder)) return false;
  }
  return true;
}

// Forty-eight drawings on a canvas, in tints that take turns.
Composition Sheet(int first, int side) {
  Composition sheet;
  for (int i = 0; i < 48; ++i) {
    const int drawing = (first + i) % static_cast<int>(LockedDrawings().size());
    sheet.drawings.push_back({drawing, i % 8, side, 28 * (i % 7), 28 * (i / 7)});
  }
  return sheet;
}

TEST_CASE("Debian's drawings are those of the lock, and give the pictures that they always gave") {
  if (!PackagesAreThere()) {
    WARN("LEFT OUT: Debian's drawings, which are not installed");
    return;
  }
  const auto corpora = OpenDrawingCorpora();
  REQUIRE(corpora.ok());
  const auto drawings = ReadDrawings(LockedDrawings(), *corpora, {28, 40, 54});
  INFO(drawings.status().ToString());
  REQUIRE(drawings.ok());
  REQUIRE(drawings->size() == static_cast<int>(LockedDrawings().size()));

  Sha256 hash;
  for (const int side : {28, 40, 54}) {
    for (int first = 0; first < drawings->size(); first += 48) {
      const auto picture = Compose(Sheet(first, side), *drawings);
      INFO(picture.status().ToString());
      REQUIRE(picture.ok());
      hash.Update({reinterpret_cast<const char*>(picture->rgb.data()), picture->rgb.size()});
    }
  }
  REQUIRE(hash.Hex() == "6f023ca010bcd2c8d3f57aa49c67fcab3389391ba5220ad8291cd02ca307a949");
}

}  // namespace
}  // namespace sightline
