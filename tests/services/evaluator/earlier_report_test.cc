#include "services/evaluator/earlier_report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

nlohmann::json MethodOf(const char* name, int depth, bool declared, const char* ranks) {
  return {{"name", name}, {"depth", depth}, {"declared", declared}, {"ranks", ranks}};
}

// Where replace is declared, or, at no depth, retrieval alone.
nlohmann::json ReportWith(bool reranks) {
  return {
      {"format_version", 3},
      {"settings", {{"captions", "first"}, {"language", "en"}, {"list_length", 50}}},
      {"results",
       {{{"direction", "text_to_image"},
         {"split", "train"},
         {"query_count", 3},
         {"pool_size", 9},
         {"queries_sha256", QueriesSha256(ThreeQueries().queries)},
         {"methods",
          {MethodOf("retrieval", 0, !reranks, "2 2 2"), MethodOf("replace", 20, reranks, "1 2 0"),
           MethodOf("add_lambda:0.5", 20, false, "3 3 3")}}}}}};
}

EarlierReport Parsed(const nlohmann::json& json) {
  auto parsed = ParseEarlierReport(json.dump());
  INFO(parsed.status());
  REQUIRE(parsed.ok());
  return *std::move(parsed);
}

absl::StatusOr<const EarlierResults*> Find(const EarlierReport& earlier, const MeasureSpec& spec) {
  return FindEarlier(earlier, spec, 9, "first", "en");
}

// What retrieval, replace and add_lambda:0.5 at 20, and that at 50, are held against, where all
// find everything first: "name depth gain".
std::vector<std::vector<std::string>> Held(const nlohmann::json& report,
                                           const absl::optional<DeclaredCombination>& declared) {
  const EarlierReport earlier = Parsed(report);
  const MeasureSpec spec = ThreeQueries();
  Measurement now;
  for (const auto& [depth, combination] : {std::pair(0, Combination()), std::pair(20, kReplace),
                                           std::pair(20, kHalf), std::pair(50, kHalf)}) {
    MethodResult& result = now.results.emplace_back();
    result.method = {depth, combination};
    result.ranks = {1, 1, 1};
  }
  ComputePool pool(1);
  const auto found = Find(earlier, spec);
  REQUIRE(found.ok());
  HoldAgainst(**found, spec, declared, &pool, &now);
  std::vector<std::vector<std::string>> held;
  for (const MethodResult& result : now.results) {
    auto& one = held.emplace_back();
    for (const EarlierGain& gain : result.over_earlier) {
      one.push_back(absl::StrCat(gain.name, " ", gain.depth, " ", gain.gain.recall[0].estimate));
    }
  }
  return held;
}

TEST_CASE("a method is held against itself, and what is declared against what was") {
  using Lists = std::vector<std::vector<std::string>>;
  const std::string retrieval = "retrieval 0 1", half = "add_lambda:0.5 20 1";
  const std::string replace = absl::StrCat("replace 20 ", 2.0 / 3);
  const auto declared = [](const Combination& combination, bool by_default) {
    DeclaredCombination one;
    one.combination = combination;
    one.by_default = by_default;
    return absl::optional<DeclaredCombination>(one);
  };
  REQUIRE(Held(ReportWith(true), absl::nullopt) == Lists{{retrieval}, {replace}, {half}, {}});
  // Declared now; then it was replace, at the one depth that was measured.
  REQUIRE(Held(ReportWith(true), declared(kHalf, true)) ==
          Lists{{retrieval}, {replace}, {half, replace}, {replace}});
  REQUIRE(Held(ReportWith(true), declared(kReplace, true)) ==
          Lists{{retrieval}, {replace}, {half}, {}});
  // Then nothing was reranked where nobody asked; and now nothing is.
  REQUIRE(Held(ReportWith(false), declared(kHalf, true)) ==
          Lists{{retrieval}, {replace}, {half, retrieval}, {retrieval}});
  REQUIRE(Held(ReportWith(true), declared(kHalf, false)) ==
          Lists{{retrieval, replace}, {replace}, {half}, {}});
}

TEST_CASE("other queries, pools, splits and directions are refused") {
  const EarlierReport earlier = Parsed(ReportWith(true));
  const auto refused = [](const absl::Status& status, const char* text) {
    INFO(status);
    return absl::IsFailedPrecondition(status) && absl::StrContains(status.message(), text);
  };
  MeasureSpec spec = ThreeQueries();
  REQUIRE(refused(FindEarlier(earlier, spec, 8, "first", "en").status(),
                  "text_to_image, train: items to be found were then 9 and now 8"));
  REQUIRE(refused(FindEarlier(earlier, spec, 9, "all", "en").status(),
                  "--captions was then first and now all"));
  REQUIRE(refused(FindEarlier(earlier, spec, 9, "first", "de").status(),
                  "--language was then en and now de"));
  spec.list_length = 20;
  REQUIRE(refused(Find(earlier, spec).status(), "--list-length was then 50 and now 20"));
  spec = ThreeQueries();
  spec.split = Split::kHeldOut;
  REQUIRE(refused(Find(earlier, spec).status(), "nothing is told of text_to_image, held_out"));
  spec = ThreeQueries();
  spec.direction = Direction::kImageToText;
  REQUIRE(refused(Find(earlier, spec).status(), "nothing is told of image_to_text, train"));
  spec = ThreeQueries();
  spec.queries[1].text = "too";
  REQUIRE(refused(Find(earlier, spec).status(), "text_to_image, train: other queries were asked"));
  spec = ThreeQueries();
  spec.queries.pop_back();
  REQUIRE(refused(Find(earlier, spec).status(), "queries were then 3 and now 2"));
  // Even where the sum says otherwise.
  nlohmann::json lying = ReportWith(true);
  lying["results"][0]["queries_sha256"] = QueriesSha256(spec.queries);
  REQUIRE(refused(Find(Parsed(lying), spec).status(), "queries were then 3 and now 2"));
}

TEST_CASE("what is no such report says at which key") {
  const auto refused = [](const std::string& json, const char* text) {
    const absl::Status status = ParseEarlierReport(json).status();
    INFO(status);
    return absl::IsInvalidArgument(status) && absl::StrContains(status.message(), text);
  };
  REQUIRE(refused("", "is no JSON object"));
  REQUIRE(refused("[]", "is no JSON object"));
  REQUIRE(refused("{}", "\"format_version\" is no count"));
  REQUIRE(refused(R"({"format_version":2})", "\"format_version\" is 2, not 3"));
  REQUIRE(refused(R"({"format_version":3})", "\"settings\" is no object"));
  for (const char* key : {"captions", "language", "list_length"}) {
    nlohmann::json report = ReportWith(true);
    report["settings"].erase(key);
    REQUIRE(refused(report.dump(), key));
  }
  nlohmann::json report = ReportWith(true);
  report["results"] = {3};
  REQUIRE(refused(report.dump(), "results[0]: "));
  for (const char* key :
       {"direction", "split", "query_count", "pool_size", "queries_sha256", "methods"}) {
    report = ReportWith(true);
    report["results"][0].erase(key);
    INFO(key);
    REQUIRE(refused(report.dump(), key));
    report["results"][0][key] = -1;
    REQUIRE(refused(report.dump(), key));
  }
  for (const char* key : {"name", "depth", "declared", "ranks"}) {
    report = ReportWith(true);
    report["results"][0]["methods"][1][key] = nlohmann::json::array();
    INFO(key);
    REQUIRE(refused(report.dump(), key));
  }
  for (const char* ranks : {"1 2", "1 2 51", "1 2 -1", "1 2 0.5", "1 2 3 4", "x 1 2"}) {
    report = ReportWith(true);
    report["results"][0]["methods"][1]["ranks"] = ranks;
    REQUIRE(refused(report.dump(), "replace: "));
  }
  report = ReportWith(true);
  report["results"][0]["methods"][1] = 7;
  REQUIRE(refused(report.dump(), "\"methods\" is no list of objects"));
  report["results"][0]["methods"][1] = report["results"][0]["methods"][0];
  REQUIRE(refused(report.dump(), "retrieval at depth 0 stands there twice"));
  report = ReportWith(true);
  report["results"].push_back(report["results"][0]);
  REQUIRE(refused(report.dump(), "text_to_image, train stands there twice"));
}

}  // namespace
}  // namespace sightline
