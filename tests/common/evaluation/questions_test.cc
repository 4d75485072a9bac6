#include "common/evaluation/questions.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("questions are read, blank lines and other keys passed over") {
  const auto questions = ParseQuestions(
      "{\"query\": \"a red fish\", \"expect\": [\"a\", \"b\"], \"why\": 7}\n\n"
      "{\"expect\": [\"c\"], \"query\": \"sea\"}\n");
  REQUIRE(questions.ok());
  REQUIRE(questions->size() == 2);
  REQUIRE((*questions)[0].query == "a red fish");
  REQUIRE((*questions)[0].expected == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a malformed question is refused by its line") {
  for (const char* bad :
       {"{", "[]", "7", "{}", "{\"query\":\"fish\"}", "{\"expect\":[\"a\"]}",
        "{\"query\":\"\",\"expect\":[\"a\"]}", "{\"query\":7,\"expect\":[\"a\"]}",
        "{\"query\":\"fish\",\"expect\":[]}", "{\"query\":\"fish\",\"expect\":\"a\"}",
        "{\"query\":\"fish\",\"expect\":[7]}", "{\"query\":\"fish\",\"expect\":[\"\"]}",
        "{\"query\":\"fish\",\"expect\":{\"a\":\"b\"}}",
        "{\"query\":\"\xff\",\"expect\":[\"a\"]}"}) {
    INFO(bad);
    const auto questions =
        ParseQuestions(absl::StrCat("{\"query\":\"x\",\"expect\":[\"y\"]}\n", bad));
    REQUIRE_FALSE(questions.ok());
    REQUIRE(absl::StartsWith(questions.status().message(), "line 2: "));
  }
  REQUIRE_FALSE(ParseQuestions("").ok());
  REQUIRE_FALSE(ParseQuestions("\n\n").ok());
}

}  // namespace
}  // namespace sightline
