#include "common/dataset/karpathy_file.h"

#include "tests/common/dataset/published_text.h"
#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

absl::StatusOr<PublishedCaptions> Read(const std::string& images, int captions_per_picture = 5) {
  Tree tree;
  tree.Put("dataset.json", R"({"images": [)" + images + R"(], "dataset": "made up"})");
  return ReadKarpathyFile(tree.Path("dataset.json"), "en", captions_per_picture);
}

std::string ErrorOf(const std::string& images) {
  const absl::Status status = Read(images).status();
  REQUIRE(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

std::string Sentence(int sentid, const std::string& raw) {
  return R"({"tokens": ["t"], "raw": ")" + raw + R"(", "imgid": 4, "sentid": )" +
         std::to_string(sentid) + "}";
}

TEST_CASE("COCO's pictures have COCO's ids, lie in folders, and keep five sentences") {
  const auto set = Read(
      R"({"filepath": "val2014", "sentids": [11, 12], "filename": "COCO_val2014_000000000042.jpg",
          "imgid": 0, "split": "restval", "cocoid": 42, "sentences": [)" +
      Sentence(12, "b") + "," + Sentence(11, "a") + "," + Sentence(15, "e") + "," +
      Sentence(14, "d") + "," + Sentence(16, "f") + "," + Sentence(13, "c") +
      R"(]}, {"filepath": "train2014", "filename": "x.jpg", "imgid": 1, "split": "test",
          "cocoid": 7, "sentences": []})");
  REQUIRE(set.ok());
  REQUIRE(TextOf(*set) ==
          "42 val2014/COCO_val2014_000000000042.jpg restval: en:a|en:b|en:c|en:d|en:e\n"
          "7 train2014/x.jpg test:\n");
}

TEST_CASE("Flickr's pictures have the names of their files for ids") {
  const auto set = Read(R"({"sentids": [0], "imgid": 0, "sentences": [)" +
                            Sentence(0, "Two \\u00e9l\\u00e8ves.") +
                            R"(], "split": "train", "filename": "1000092795.jpg"})",
                        0);
  REQUIRE(set.ok());
  REQUIRE(TextOf(*set) == "1000092795 1000092795.jpg train: en:Two élèves.\n");
}

TEST_CASE("the language is what it is said to be") {
  Tree tree;
  tree.Put("d.json", R"({"images": [{"filename": "a.jpg", "split": "val", "sentences": [)" +
                         Sentence(1, "ein Hund") + "]}]}");
  const auto set = ReadKarpathyFile(tree.Path("d.json"), "de", 5);
  REQUIRE(TextOf(*set) == "a a.jpg val: de:ein Hund\n");
}

TEST_CASE("what is missing or of another kind is named with its place") {
  REQUIRE_THAT(ErrorOf(R"({"split": "test", "sentences": []})"),
               Catch::Contains("dataset.json: at byte ") &&
                   Catch::Contains("element 0 of \"images\"") &&
                   Catch::Contains("\"filename\" is missing"));
  REQUIRE_THAT(ErrorOf(R"({"filename": "a.jpg", "sentences": []})"),
               Catch::Contains("\"split\" is missing"));
  REQUIRE_THAT(ErrorOf(R"({"filename": "a.jpg", "split": "", "sentences": []})"),
               Catch::Contains("\"split\" is empty"));
  REQUIRE_THAT(ErrorOf(R"({"filename": "a.jpg", "split": "dev", "sentences": []})"),
               Catch::Contains("the split is \"dev\""));
  REQUIRE_THAT(ErrorOf(R"({"filename": "a.jpg", "split": "test"})"),
               Catch::Contains("\"sentences\" is missing"));
  REQUIRE_THAT(ErrorOf(R"({"filename": "a.jpg", "split": "test", "sentences": [{"raw": "x"}]})"),
               Catch::Contains("a sentence: \"sentid\" is missing"));
  REQUIRE_THAT(ErrorOf(R"({"filename": "a.jpg", "split": "test", "sentences": [5]})"),
               Catch::Contains("a sentence: \"raw\" is missing"));
  REQUIRE_THAT(ErrorOf(R"({"filename": "a.jpg", "filepath": "../..", "split": "test",
                           "sentences": []})"),
               Catch::Contains("below the folder of pictures"));
  const std::string image = R"({"filename": "a.jpg", "split": "test", "sentences": []})";
  REQUIRE_THAT(ErrorOf(image + "," + image),
               Catch::Contains("element 1 of \"images\"") && Catch::Contains("twice"));
}

}  // namespace
}  // namespace sightline
