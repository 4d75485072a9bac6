#include "services/trainer/text_list.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/dataset/corpus.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Concepts = std::vector<std::vector<std::string>>;

TEST_CASE("a line is a concept, its texts cleaned like captions") {
  const auto concepts = ParseTextList(
      "{\"texts\": [\"wombat\", \"  a\\nmarsupial \"]}\n\n"
      "{\"source\": 3, \"texts\": [\"Ähre\", \"ear\", \"ear\"]}\n");
  INFO(concepts.status());
  REQUIRE(concepts.ok());
  REQUIRE(*concepts == Concepts{{"wombat", "a marsupial"}, {"Ähre", "ear", "ear"}});
  REQUIRE(ParseTextList("")->empty());
}

TEST_CASE("a line that is no concept is refused and named") {
  const std::string good = "{\"texts\": [\"a\", \"b\"]}\n";
  std::string many;
  for (size_t i = 0; i <= kMaxTextsPerConcept; ++i) absl::StrAppend(&many, i ? "," : "", "\"a\"");
  const std::string long_text(kMaxCaptionBytes + 1, 'a');
  for (const std::string& bad :
       {std::string("wombat"), std::string("[]"), std::string("{}"), std::string("{\"texts\": 3}"),
        std::string("{\"texts\": [\"a\"]}"), std::string("{\"texts\": [\"a\", 3]}"),
        std::string("{\"texts\": [\"a\", \" \"]}"), absl::StrCat("{\"texts\": [", many, "]}"),
        absl::StrCat("{\"texts\": [\"a\", \"", long_text, "\"]}")}) {
    const auto concepts = ParseTextList(good + bad);
    INFO(bad << ": " << concepts.status());
    REQUIRE(absl::IsInvalidArgument(concepts.status()));
    REQUIRE_THAT(std::string(concepts.status().message()), Catch::Contains("line 2: "));
  }
}

}  // namespace
}  // namespace sightline
