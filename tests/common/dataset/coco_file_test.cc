#include "common/dataset/coco_file.h"

#include "tests/common/dataset/published_text.h"
#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr char kImages[] =
    R"("images": [{"id": 42, "file_name": "COCO_val2014_000000000042.jpg", "width": 640},
                  {"id": 7, "file_name": "b.jpg"}])";
constexpr char kAnnotations[] =
    R"("annotations": [{"image_id": 7, "id": 3, "caption": "c"},
                       {"image_id": 42, "id": 9, "caption": "second\n"},
                       {"image_id": 42, "id": 2, "caption": "first"}])";

absl::StatusOr<PublishedCaptions> Read(const std::string& name, const std::string& text) {
  Tree tree;
  tree.Put(name, text);
  return ReadCocoFile(tree.Path(name), "en", 5);
}

std::string Joined(const std::string& a, const std::string& b) {
  return R"({"info": {"year": 2014}, )" + a + R"(, "licenses": [{"id": 1}], )" + b + "}";
}

TEST_CASE("captions find their images, whichever array comes first") {
  const auto images_first = Read("captions_val2014.json", Joined(kImages, kAnnotations));
  REQUIRE(images_first.ok());
  REQUIRE(TextOf(*images_first) ==
          "42 COCO_val2014_000000000042.jpg val: en:first|en:second\n7 b.jpg val: en:c\n");
  const auto images_last = Read("captions_val2014.json", Joined(kAnnotations, kImages));
  REQUIRE(TextOf(*images_last) ==
          "7 b.jpg val: en:c\n42 COCO_val2014_000000000042.jpg val: en:first|en:second\n");
}

TEST_CASE("the name of the file tells the split, and another name tells none") {
  const std::string text =
      Joined(R"("images": [{"id": 1, "file_name": "a.jpg"}])", R"("annotations": [])");
  const std::pair<const char*, const char*> names[] = {{"captions_train2014.json", "train"},
                                                       {"captions_val2017.json", "val"},
                                                       {"captions_test.json", "test"},
                                                       {"captions_mini2014.json", ""},
                                                       {"val2014.json", ""}};
  for (const auto& [name, split] : names) {
    CAPTURE(name);
    REQUIRE(Read(name, text)->pictures[0].split == split);
  }
}

TEST_CASE("annotations of no image and images of no file are refused") {
  const auto error = [](const std::string& a, const std::string& b) {
    const absl::Status status = Read("c.json", Joined(a, b)).status();
    REQUIRE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  REQUIRE_THAT(error(R"("images": [])", kAnnotations),
               Catch::Contains("c.json: picture \"7\" has captions, but nothing tells its file"));
  REQUIRE_THAT(error(R"("images": [{"id": 1}])", kAnnotations),
               Catch::Contains("\"file_name\" is missing"));
  REQUIRE_THAT(error(kImages, kImages), Catch::Contains("\"images\" comes twice"));
  REQUIRE_THAT(error(kImages, R"("x": [])"), Catch::Contains("has no array \"annotations\""));
  REQUIRE_THAT(error(kImages, R"("annotations": [{"image_id": 7, "id": 1.5, "caption": "x"}])"),
               Catch::Contains("\"id\" must be a whole number"));
  REQUIRE_THAT(error(kImages, R"("annotations": [{"image_id": 7, "id": 1, "caption": null}])"),
               Catch::Contains("\"caption\" must be a text, not null"));
}

}  // namespace
}  // namespace sightline
