#include "common/evaluation/list_file.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

ListFile Lists() {
  ListFile file;
  file.live = true;
  file.images = "images/g1";
  file.captions = "captions/g2";
  file.image_count = 2;
  file.caption_count = 30;
  file.language = "en";
  file.list_length = 25;
  file.methods = {Method(),
                  {20, {CombinationKind::kReplace, 0}},
                  {20, {CombinationKind::kAddLambda, 0.1f}},
                  {10, {CombinationKind::kAddLambda, 0.1f}}};
  QueryTime time;
  time.seconds = 0.25;
  time.spread = TimeSpread{0.3, 0.1, 2, 0.5, 1.5};
  file.times = {time, absl::nullopt, time, absl::nullopt};
  file.of(Direction::kTextToImage) = {{"a", 1, {{1}, {2}, {}, {25}}}, {"a", 1, {{}, {}, {}, {}}}};
  file.of(Direction::kImageToText) = {{"a", 2, {{1, 25}, {2}, {}, {3, 4}}}};
  return file;
}

TEST_CASE("lists are read as they were written") {
  const ListFile lists = Lists();
  const std::string text = FormatListFile(lists);
  const auto read = ParseListFile(text);
  INFO(read.status());
  REQUIRE(read.ok());
  REQUIRE(read->live);
  REQUIRE(read->images == "images/g1");
  REQUIRE(read->captions == "captions/g2");
  REQUIRE(read->image_count == 2);
  REQUIRE(read->caption_count == 30);
  REQUIRE(read->language == "en");
  REQUIRE(read->list_length == 25);
  REQUIRE(read->methods.size() == 4);
  for (size_t m = 0; m < 4; ++m) REQUIRE(SameMethod(read->methods[m], lists.methods[m]));
  for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
    REQUIRE(read->of(direction).size() == lists.of(direction).size());
    for (size_t q = 0; q < lists.of(direction).size(); ++q) {
      REQUIRE(read->of(direction)[q].image == "a");
      REQUIRE(read->of(direction)[q].relevant == lists.of(direction)[q].relevant);
      REQUIRE(read->of(direction)[q].places == lists.of(direction)[q].places);
    }
  }
  REQUIRE(read->times[2]->seconds == 0.25);
  REQUIRE(read->times[2]->spread->p95 == 0.5);
  REQUIRE_FALSE(read->times[3].has_value());
  REQUIRE(FormatListFile(*read) == text);
  REQUIRE(absl::StrContains(text, "\"lambda\":0.1}"));
}

TEST_CASE("what is no such file is refused, with line and key") {
  const auto refused = [](const std::string& text, const std::string& why) {
    const absl::Status status = ParseListFile(text).status();
    INFO(text << status);
    return absl::IsInvalidArgument(status) && absl::StrContains(status.message(), why);
  };
  // Whatever stands at a place instead of what stands there.
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = FormatListFile(Lists());
    REQUIRE(absl::StrReplaceAll({{from, to}}, &text) > 0);
    return text;
  };
  REQUIRE(refused("", "has no query of text_to_image"));
  REQUIRE(refused("{", "line 1: "));
  REQUIRE(refused("{}\n", "line 1: \"format_version\" is no whole number"));
  REQUIRE(refused(changed("\"format_version\":1", "\"format_version\":2"), "is 2, not 1"));
  REQUIRE(refused(changed("\"live\":true", "\"live\":1"), "\"live\""));
  REQUIRE(refused(changed("\"images/g1\"", "7"), "\"images\""));
  REQUIRE(refused(changed("\"en\"", "\"e\\n\""), "\"language\" is e\\n"));
  for (const char* length : {"19", "1001", "-1", "25.0", "\"25\""}) {
    REQUIRE(refused(changed("\"list_length\":25", absl::StrCat("\"list_length\":", length)),
                    "\"list_length\" is no whole number from 20 to 1000"));
  }
  REQUIRE(refused(changed("\"image_count\":2,", "\"image_count\":0,"), "\"image_count\""));
  REQUIRE(refused(changed("\"caption_count\":30", "\"caption_count\":1e3"), "\"caption_count\""));
  REQUIRE(refused(changed("{\"depth\":0,", "{\"depth\":1001,"), "\"depth\""));
  REQUIRE(refused(changed("{\"depth\":0,", "{\"depth\":5,\"combination\":\"replace\","),
                  "begins with depth 0"));
  REQUIRE(refused(changed("{\"depth\":0,", "{\"depth\":0},{\"depth\":0,"),
                  "has retrieval at depth 0 twice"));
  REQUIRE(refused(changed("\"seconds_per_query\":0.25", "\"seconds_per_query\":-1"),
                  "\"seconds_per_query\""));
  REQUIRE(refused(changed("\"p95\":0.5,", ""), "\"p95\""));
  REQUIRE(refused(changed("\"replace\"", "\"swap\""), "swap"));
  REQUIRE(refused(changed("\"lambda\":0.1", "\"lambda\":2"), "line 1: "));
  REQUIRE(refused(changed("\"methods\":[", "\"methods\":7,\"x\":["), "\"methods\" is no list"));
  REQUIRE(refused(changed("image_to_text", "sideways"), "line 4: \"direction\""));
  REQUIRE(refused(changed("\"relevant\":2", "\"relevant\":0"), "line 4: \"relevant\""));
  for (const std::string& places :
       {std::string("[[26],[2],[],[3,4]]"), std::string("[[0],[2],[],[3,4]]"),
        std::string("[[2,2],[2],[],[3,4]]"), std::string("[[1,2,3],[2],[],[3,4]]"),
        std::string("[[1],[2],[]]"), std::string("[1,2,3,4]"), std::string("7"),
        std::string("[[1.5],[2],[],[3,4]]"), std::string("[[1e99],[2],[],[3,4]]")}) {
    REQUIRE(refused(changed("[[1,25],[2],[],[3,4]]", places), "line 4: \"places\" is no list"));
  }
  REQUIRE(refused(changed("\"image\":\"a\",\"relevant\":2", "\"image\":\"b\",\"relevant\":2"),
                  "has a caption of image 'a' that asks, and not the image"));
  const std::string text = FormatListFile(Lists());
  REQUIRE(refused(absl::StrCat(text, text.substr(text.rfind("{\"direction\""))),
                  "line 5: image 'a' asks twice"));
}

}  // namespace
}  // namespace sightline
