#include "services/evaluator/questions.h"

#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/evaluator/questions_command.h"
#include "tests/services/evaluator/fake_search_client.h"
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

TEST_CASE("each question has its line, and failed requests are told") {
  FakeSearchClient client([](const SearchRequest& request) -> absl::StatusOr<SearchResult> {
    const std::string& text = std::get<TextQuery>(request.query).text;
    if (text == "broken") return absl::UnavailableError("router x: away");
    SearchResult result;
    if (text != "nothing") result.hits = {HitOf("stamps/a"), HitOf("stamps/b\x1b[1m")};
    if (text == "partly") result.degraded = {DegradedReason::kRerankerLate};
    return result;
  });
  const std::vector<Question> questions = {{"a red fish", {"none", "stamps/b\x1b[1m"}},
                                           {"partly", {"stamps/a"}},
                                           {"a blue fish", {"stamps/c"}},
                                           {"nothing", {"stamps/c"}},
                                           {"broken", {"stamps/a"}}};
  std::ostringstream out, err;
  const AskedQuestions asked = AskQuestions(client, questions, AskOptions(), {out, err});
  REQUIRE(asked.answered == 4);
  REQUIRE(asked.found == 2);
  REQUIRE(out.str() ==
          "ok      2  a red fish  [first: stamps/a]\n"
          "ok      1  partly  [first: stamps/a]  degraded\n"
          "miss    -  a blue fish  [first: stamps/a]\n"
          "miss    -  nothing  [first: nothing]\n"
          "fail    -  broken\n");
  REQUIRE(err.str() == "error: UNAVAILABLE: router x: away\n");
}

}  // namespace
}  // namespace sightline
