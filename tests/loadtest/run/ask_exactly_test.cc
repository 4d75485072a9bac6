#include "loadtest/run/ask_exactly.h"

#include <string>
#include <variant>
#include <vector>

#include "tests/services/evaluator/fake_search_client.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

// Asks one of two questions after the other, each of a kind of its own.
class TwoQuestions : public PlannedTraffic {
 public:
  const std::vector<std::string>& kinds() const override { return kinds_; }
  Arrivals MakeArrivals(const RunPlan&) const override { return nullptr; }
  PlannedRequest Make(int, int64_t) const override { return {}; }
  std::vector<PlannedRequest> ExactQuestions() const override {
    std::vector<PlannedRequest> questions(2);
    questions[0].request.query = TextQuery{"a red fish"};
    questions[1].request.query = TextQuery{"a house"};
    questions[1].kind = 1;
    questions[1].question = 8;
    for (PlannedRequest& question : questions) question.deadline = absl::Minutes(1);
    return questions;
  }

 private:
  const std::vector<std::string> kinds_ = {"fishes", "houses"};
};

absl::StatusOr<ExactAnswers> Ask(FakeSearchClient::Answer answer) {
  FakeSearchClient client(std::move(answer));
  return AskExactly(TwoQuestions(), &client, CallContext::Unbounded());
}

SearchResult AnswerOf(const std::string& generation, const std::vector<std::string>& ids) {
  SearchResult result;
  result.target.generation = generation;
  result.shard_count = result.answered_shard_count = 2;
  for (const std::string& id : ids) result.hits.push_back(HitOf(id));
  return result;
}

bool IsOfHouses(const SearchRequest& request) {
  return std::get<TextQuery>(request.query).text == "a house";
}

TEST_CASE("exact answers are kept by question, with their generation") {
  const auto answers = Ask([](const SearchRequest& request) {
    return IsOfHouses(request) ? AnswerOf("g2", {"h1"}) : AnswerOf("g1", {"f2", "f1"});
  });
  REQUIRE(answers.ok());
  REQUIRE(answers->size() == 2);
  REQUIRE(answers->Find(0, 0)->generation == "g1");
  REQUIRE(answers->Find(0, 0)->nearest == std::vector<std::string>{"f2", "f1"});
  REQUIRE(answers->Find(1, 8)->generation == "g2");
}

TEST_CASE("a question that no item answers has no exact answer") {
  const auto answers = Ask([](const SearchRequest& request) {
    return IsOfHouses(request) ? AnswerOf("g1", {}) : AnswerOf("g1", {"f1"});
  });
  REQUIRE(answers.ok());
  REQUIRE(answers->size() == 1);
  REQUIRE(answers->Find(1, 8) == nullptr);
}

TEST_CASE("an answer that is no measure is an error, which names the question") {
  const auto error = [](FakeSearchClient::Answer of_houses) {
    const auto answers = Ask([&of_houses](const SearchRequest& request) {
      return IsOfHouses(request) ? of_houses(request) : AnswerOf("g1", {"f1"});
    });
    REQUIRE_THAT(std::string(answers.status().message()),
                 Contains("asking question 8 of 'houses' exactly: "));
    return answers.status();
  };
  SearchResult approximate = AnswerOf("g1", {"h1"}), incomplete = approximate;
  approximate.effort = {/*exact=*/false, 0.99f, 64, /*reduced=*/true};
  incomplete.answered_shard_count = 1;
  const absl::Status not_exact = error([&](const SearchRequest&) { return approximate; });
  REQUIRE(absl::IsFailedPrecondition(not_exact));
  REQUIRE_THAT(std::string(not_exact.message()), Contains("is not exact and of 2 of 2"));
  const absl::Status not_whole = error([&](const SearchRequest&) { return incomplete; });
  REQUIRE(absl::IsFailedPrecondition(not_whole));
  REQUIRE_THAT(std::string(not_whole.message()), Contains("is exact and of 1 of 2 shards"));
  REQUIRE(absl::IsUnavailable(
      error([](const SearchRequest&) { return absl::UnavailableError("gone"); })));
}

}  // namespace
}  // namespace sightline
