#include "common/dataset/textcaps_file.h"

#include "tests/common/dataset/published_text.h"
#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

absl::StatusOr<PublishedCaptions> Read(const std::string& entries,
                                       const std::string& ocr_entries = "") {
  Tree tree;
  tree.Put("textcaps.json", R"({"dataset_name": "textcaps", "data": [)" + entries + "]}");
  if (ocr_entries.empty()) return ReadTextCapsFile(tree.Path("textcaps.json"), "", "en", 5);
  tree.Put("ocr.json", R"({"data": [)" + ocr_entries + "]}");
  return ReadTextCapsFile(tree.Path("textcaps.json"), tree.Path("ocr.json"), "en", 5);
}

std::string ErrorOf(const std::string& entries, const std::string& ocr_entries = "") {
  const absl::Status status = Read(entries, ocr_entries).status();
  REQUIRE(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

constexpr char kEntries[] =
    R"({"image_id": "aa", "set_name": "val", "caption_id": 8, "caption_str": "second",
        "reference_strs": ["first", "second"], "image_width": 1024},
       {"image_id": "bb", "set_name": "val", "caption_id": 3, "caption_str": "other",
        "reference_strs": ["other"]},
       {"image_id": "aa", "set_name": "val", "caption_id": 7, "caption_str": "first",
        "reference_strs": ["first", "second"]})";

TEST_CASE("entries of one picture are its captions, by their numbers") {
  const auto set = Read(kEntries);
  REQUIRE(set.ok());
  REQUIRE(TextOf(*set) == "aa aa.jpg val: en:first|en:second\nbb bb.jpg val: en:other\n");
}

TEST_CASE("references count once where entries have no caption of their own") {
  const std::string entry =
      R"({"image_id": "aa", "set_name": "val", "reference_strs": ["first", "second"]})";
  REQUIRE(TextOf(*Read(entry + "," + entry)) == "aa aa.jpg val: en:first|en:second\n");
  REQUIRE(TextOf(*Read(R"({"image_id": "aa", "set_name": "test"})")) == "aa aa.jpg test:\n");
}

TEST_CASE("Rosetta's tokens come with their pictures, in their order") {
  const auto set = Read(kEntries,
                        R"({"image_id": "bb", "ocr_tokens": ["STOP", " ", "half price"],
               "ocr_info": [{"word": "STOP", "bounding_box": {"topLeftX": 0.5}}]},
              {"image_id": "stranger", "ocr_tokens": ["x"]})");
  REQUIRE(set.ok());
  REQUIRE(TextOf(*set) ==
          "aa aa.jpg val: en:first|en:second\nbb bb.jpg val: en:other [STOP] [half price]\n");
}

TEST_CASE("what is missing or of another kind is named with its place") {
  REQUIRE_THAT(ErrorOf(R"({"set_name": "val"})"), Catch::Contains("textcaps.json: at byte ") &&
                                                      Catch::Contains("element 0 of \"data\"") &&
                                                      Catch::Contains("\"image_id\" is missing"));
  REQUIRE_THAT(ErrorOf(R"({"image_id": "a"})"), Catch::Contains("\"set_name\" is missing"));
  REQUIRE_THAT(ErrorOf(R"({"image_id": "a/../../b", "set_name": "val"})"),
               Catch::Contains("below the folder of pictures"));
  REQUIRE_THAT(ErrorOf(R"({"image_id": "a", "set_name": "val", "caption_str": "x"})"),
               Catch::Contains("\"caption_id\" is missing"));
  REQUIRE_THAT(ErrorOf(R"({"image_id": "a", "set_name": "val", "reference_strs": [1]})"),
               Catch::Contains("a reference must be a text, not number"));
  REQUIRE_THAT(ErrorOf(kEntries, R"({"image_id": "aa"})"),
               Catch::Contains("ocr.json") && Catch::Contains("\"ocr_tokens\" is missing"));
  REQUIRE_THAT(ErrorOf(kEntries, R"({"image_id": "aa", "ocr_tokens": [null]})"),
               Catch::Contains("an OCR token must be a text, not null"));
}

}  // namespace
}  // namespace sightline
