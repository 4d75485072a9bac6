#include "common/dataset/flickr_file.h"

#include "tests/common/dataset/published_text.h"
#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

absl::StatusOr<PublishedCaptions> Read(const std::string& text) {
  Tree tree;
  tree.Put("results", text);
  return ReadFlickrFile(tree.Path("results"), "en", 2);
}

std::string ErrorOf(const std::string& text) {
  const absl::Status status = Read(text).status();
  REQUIRE(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

TEST_CASE("lines of a picture need not be together") {
  const auto set = Read(
      "10.jpg#1\tsecond\n10.jpg#0\tA # sign\tand a tab .\n20.jpg#0\tother\r\n10.jpg#2\tthird\n");
  REQUIRE(set.ok());
  REQUIRE(TextOf(*set) == "10 10.jpg : en:A # sign and a tab .|en:second\n20 20.jpg : en:other\n");
  REQUIRE(Read("")->pictures.empty());
}

TEST_CASE("the form with bars is known by its first line, and its row without one is read") {
  const auto set = Read(
      "image_name| comment_number| comment\n"
      "10.jpg| 1| A cat | a dog .\n"
      "10.jpg| 0   A cat without a bar .\n"
      "20.jpg| 4| Last .");
  REQUIRE(set.ok());
  REQUIRE(TextOf(*set) ==
          "10 10.jpg : en:A cat without a bar .|en:A cat | a dog .\n20 20.jpg : en:Last .\n");
}

TEST_CASE("other lines are refused by their numbers") {
  REQUIRE_THAT(ErrorOf("a.jpg#0\tx\na.jpg 1\tx\n"),
               Catch::Contains("results: line 2: is not of the form NAME.jpg#NUMBER<TAB>CAPTION"));
  REQUIRE_THAT(ErrorOf("a.jpg#x\tx\n"), Catch::Contains("line 1"));
  REQUIRE_THAT(ErrorOf("a.jpg\tx #1\n"), Catch::Contains("line 1"));
  REQUIRE_THAT(ErrorOf("a.jpg#0\tx\n\n"), Catch::Contains("line 2"));
  REQUIRE_THAT(ErrorOf("#0\tx\n"), Catch::Contains("line 1: an item id is empty"));
  REQUIRE_THAT(ErrorOf("../a.jpg#0\tx\n"), Catch::Contains("below the folder of pictures"));
  const std::string header = "image_name| comment_number| comment\n";
  for (const std::string row : {"a.jpg", "a.jpg| x| c", "a.jpg|", "a.jpg| 1", "a.jpg| 1x c",
                                "a.jpg| 99999999999999999999| c"}) {
    CAPTURE(row);
    REQUIRE_THAT(ErrorOf(header + row), Catch::Contains("line 2: is not of the form"));
  }
}

TEST_CASE("an empty caption is left out with its line") {
  const auto set = Read("a.jpg#0\t\na.jpg#1\tgood\n");
  REQUIRE(TextOf(*set) == "a a.jpg : en:good\n");
  REQUIRE_THAT(set->warnings.at(0).reason, Catch::Contains("line 1 is empty"));
}

}  // namespace
}  // namespace sightline
