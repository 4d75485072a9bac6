#include "services/evaluator/questions_command.h"

#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/services/evaluator/fake_search_client.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

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
