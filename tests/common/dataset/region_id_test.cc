#include "common/dataset/region_id.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

PublishedPicture Picture() {
  PublishedPicture picture;
  picture.id = "391895";
  picture.file = "images/val2014/COCO_val2014_000000391895.jpg";
  picture.split = "test";
  return picture;
}

TEST_CASE("what of the picture is taken stands between braces, filled up with zeros") {
  const std::pair<const char*, const char*> patterns[] = {
      {"{id}", "391895"},
      {"{stem}", "COCO_val2014_000000391895"},
      {"coco_{folder}_{id:012}", "coco_val2014_000000391895"},
      {"{split}/{id:03}", "test/391895"},
      {"plain", "plain"},
      {"", ""},
  };
  for (const auto& [pattern, id] : patterns) {
    CAPTURE(pattern);
    REQUIRE(RegionId::Parse(pattern)->Of(Picture()) == id);
  }
  PublishedPicture flat;
  flat.file = "1000092795.jpg";
  REQUIRE(RegionId::Parse("{folder}flickr30k_{stem:012}")->Of(flat) == "flickr30k_001000092795");
}

TEST_CASE("other patterns are refused") {
  for (const char* pattern : {"{", "}", "{id", "id}", "{}", "{name}", "{id:}", "{id:12}", "{id:0}",
                              "{id:0123}", "{id:0x}", "{{id}}", "{id:0-1}"}) {
    CAPTURE(pattern);
    const absl::Status status = RegionId::Parse(pattern).status();
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains("coco_{folder}_{id:012}"));
  }
}

}  // namespace
}  // namespace sightline
