#include "services/evaluator/earlier_report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "common/base/compute_pool.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const Combination kReplace = {CombinationKind::kReplace, 0};
const Combination kHalf = {CombinationKind::kAddLambda, 0.5f};

MeasureSpec ThreeQueries() {
  MeasureSpec spec;
  spec.split = Split::kTrain;
  spec.queries = {{"a", "one", {}}, {"b", "two", {}}, {"c", "three", {}}};
  spec.bootstrap.resamples = 100;
  return spec;
}

nlohmann::json Method(const char* name, int depth, bool declared, std::vector<int> ranks) {
  return {{"name", name}, {"depth", depth}, {"declared", declared}, {"ranks", ranks}};
}

nlohmann::json Report() {
  return {{"results",
           {{{"direction", "text_to_image"},
             {"split", "train"},
             {"query_count", 3},
             {"queries_sha256", QueriesSha256(ThreeQueries().queries)},
             {"methods",
              {Method("retrieval", 0, false, {2, 2, 2}), Method("replace", 20, true, {1, 2, 0}),
               Method("add_lambda:0.5", 20, false, {3, 3, 3})}}}}}};
}

std::vector<EarlierResults> Parsed(const nlohmann::json& json) {
  auto parsed = ParseEarlierReport(json.dump());
  REQUIRE(parsed.ok());
  return *std::move(parsed);
}

TEST_CASE("a method is held against itself, and what is declared against what was") {
  const std::vector<EarlierResults> earlier = Parsed(Report());
  const MeasureSpec spec = ThreeQueries();
  const auto found = FindEarlier(earlier, spec);
  REQUIRE(found.ok());
  Measurement now;
  for (const auto& [depth, combination] : {std::pair(0, Combination()), std::pair(20, kReplace),
                                           std::pair(20, kHalf), std::pair(50, kHalf)}) {
    MethodResult& result = now.results.emplace_back();
    result.method = {depth, combination};
    result.ranks = {1, 1, 1};
  }
  ComputePool pool(1);
  HoldAgainst(**found, spec, DeclaredCombination{kHalf}, &pool, &now);
  REQUIRE(now.results[0].over_earlier->recall[0].estimate == 1);
  REQUIRE(now.results[1].over_earlier->recall[0].estimate == Approx(2.0 / 3));
  // Declared now; then it was replace.
  REQUIRE(now.results[2].over_earlier->recall[1].estimate == Approx(1.0 / 3));
  // Declared as well, and at a depth that was not measured.
  REQUIRE_FALSE(now.results[3].over_earlier.has_value());

  HoldAgainst(**found, spec, absl::nullopt, &pool, &now);
  REQUIRE(now.results[2].over_earlier->recall[1].estimate == 0);
}

TEST_CASE("other queries, splits and directions are refused") {
  const std::vector<EarlierResults> earlier = Parsed(Report());
  MeasureSpec spec = ThreeQueries();
  const auto refused = [&earlier](const MeasureSpec& asked, const char* text) {
    const absl::Status status = FindEarlier(earlier, asked).status();
    INFO(status);
    return absl::IsFailedPrecondition(status) && absl::StrContains(status.message(), text);
  };
  spec.split = Split::kHeldOut;
  REQUIRE(refused(spec, "nothing is told of text_to_image, held_out"));
  spec = ThreeQueries();
  spec.direction = Direction::kImageToText;
  REQUIRE(refused(spec, "nothing is told of image_to_text, train"));
  spec = ThreeQueries();
  spec.queries[1].text = "too";
  REQUIRE(refused(spec, "text_to_image, train: other queries were asked"));
}

TEST_CASE("what is no such report says at which key") {
  const auto refused = [](const std::string& json, const char* text) {
    const absl::Status status = ParseEarlierReport(json).status();
    INFO(status);
    return absl::IsInvalidArgument(status) && absl::StrContains(status.message(), text);
  };
  REQUIRE(refused("", "is no JSON object"));
  REQUIRE(refused("[]", "is no JSON object"));
  REQUIRE(refused("{}", "\"results\" is no list"));
  REQUIRE(refused(R"({"results":[3]})", "results[0]: "));
  for (const char* key : {"direction", "split", "query_count", "queries_sha256", "methods"}) {
    nlohmann::json report = Report();
    report["results"][0].erase(key);
    INFO(key);
    REQUIRE(refused(report.dump(), key));
    report["results"][0][key] = -1;
    REQUIRE(refused(report.dump(), key));
  }
  nlohmann::json report = Report();
  auto& method = report["results"][0]["methods"][1];
  for (const nlohmann::json& ranks :
       {nlohmann::json{1, 2}, nlohmann::json{1, 2, 51}, nlohmann::json{1, 2, -1},
        nlohmann::json{1, 2, 0.5}, nlohmann::json("1")}) {
    method["ranks"] = ranks;
    REQUIRE(refused(report.dump(), "replace: "));
  }
  method.erase("ranks");
  REQUIRE(refused(report.dump(), "from before they were kept"));
  method = 7;
  REQUIRE(refused(report.dump(), "\"methods\" is no list of objects"));
}

}  // namespace
}  // namespace sightline
