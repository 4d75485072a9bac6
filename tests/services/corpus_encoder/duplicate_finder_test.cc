#include "services/corpus_encoder/duplicate_finder.h"

#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

struct Named {
  std::string id, sha256;
};

// The warnings, as "id: reason" lines; the count must be theirs.
std::string Duplicates(const std::vector<Named>& pictures) {
  const TempDir dir;
  DuplicateFinder finder(dir.path());
  for (const Named& named : pictures) {
    ScannedPicture picture;
    picture.item.item_id = named.id;
    picture.item.path = "/" + named.id;
    picture.sha256 = named.sha256;
    REQUIRE(finder.Add(picture).ok());
  }
  auto warnings = Warnings::Create(dir.path());
  REQUIRE(warnings.ok());
  const auto count = finder.AddTo(*warnings);
  REQUIRE(count.ok());
  REQUIRE(warnings->Finish().ok());
  REQUIRE(warnings->size() == *count);
  REQUIRE(warnings->WriteTo(dir.File("w")).ok());
  return *ReadFile(dir.File("w"));
}

std::string Line(const std::string& id, const std::string& first) {
  return "{\"item_id\":\"" + id + "\",\"path\":\"/" + id + "\",\"reason\":\"the same picture as " +
         first + "\"}\n";
}

TEST_CASE("each picture that was there before names the first of its bytes, in the order of ids") {
  REQUIRE(Duplicates({{"a", "2"}, {"b", "1"}, {"c", "2"}, {"d", "1"}, {"e", "2"}}) ==
          Line("c", "a") + Line("d", "b") + Line("e", "a"));
}

TEST_CASE("pictures of different bytes, and no pictures, are no duplicates") {
  REQUIRE(Duplicates({{"a", "1"}, {"b", "2"}, {"c", "12"}}) == "");
  REQUIRE(Duplicates({}) == "");
}

TEST_CASE("ids and paths that hold what separates texts come back whole") {
  const std::string odd("x\0y", 3);
  REQUIRE_THAT(Duplicates({{"a", "1"}, {odd, "1"}}), Catch::Contains("x\\u0000y"));
}

}  // namespace
}  // namespace sightline
