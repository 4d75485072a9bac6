#include "services/trainer/item_names.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Captions = std::vector<std::string>;

TEST_CASE("a name is a caption, and so is the name below its folders") {
  ItemNames names;
  REQUIRE(names.CaptionsOf("clipart/signs_and_symbols/flags/africa/capeverde") ==
          Captions{"capeverde", "signs and symbols flags africa capeverde"});
  REQUIRE(names.CaptionsOf("clipart/bambi") == Captions{"bambi"});
}

TEST_CASE("words are parted by signs and rising case, and numbers are none") {
  ItemNames names;
  REQUIRE(names.CaptionsOf("c/MatieresExplosives_v2-01")[0] == "matieres explosives");
  REQUIRE(names.CaptionsOf("c/tigre03")[0] == "tigre");
  REQUIRE(names.CaptionsOf("c/USB stick (b)")[0] == "usb stick");
  REQUIRE(names.CaptionsOf("c/sm\xC3\xB6rg\xC3\xA5s_")[0] == "sm\xC3\xB6rg\xC3\xA5s");
}

TEST_CASE("a name without a word leaves the folders") {
  ItemNames names;
  REQUIRE(names.CaptionsOf("clipart/computer/icons/70a018") == Captions{"computer icons"});
  REQUIRE(names.CaptionsOf("clipart/70a018").empty());
  REQUIRE(names.CaptionsOf("").empty());
  REQUIRE(names.CaptionsOf("///").empty());
}

TEST_CASE("a name is worn out after a few items") {
  ItemNames names;
  for (int i = 0; i < ItemNames::kMostOfAName; ++i) {
    REQUIRE(names.CaptionsOf("c/shapes/star_" + std::to_string(i)).size() == 2);
  }
  REQUIRE(names.CaptionsOf("c/shapes/star_99").empty());
  REQUIRE(names.CaptionsOf("c/shapes/moon_99").size() == 2);
}

}  // namespace
}  // namespace sightline
