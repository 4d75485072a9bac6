#include "services/evaluator/report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

MethodResult Result(int depth, const Combination& combination, double share) {
  MethodResult result;
  result.method = {depth, combination};
  result.metrics.query_count = 1234;
  result.metrics.recall = {share, share + 0.1, share + 0.2, share + 0.3};
  result.metrics.mrr = share + 0.05;
  const Interval points = {0.021, -0.01, 0.052};
  if (depth > 0) result.gain = Gain{{points, points, points, points}, {0.0123, 0.0100, 0.0150}};
  result.ranks = {1, 0, 50};
  return result;
}

MeasureReport Report() {
  MeasureReport report;
  const Combination declared = {CombinationKind::kNormAddLambda, 0.3f};
  report.images = {
      "images", "g1", 10257, "encoder", "model", "fine", DeclaredCombination{declared}};
  report.captions = {"captions", "g1", 9965, "encoder", "", "", absl::nullopt};
  report.language = "en";
  report.depths = {20};
  report.measurements.push_back(
      {Direction::kTextToImage,
       Split::kHeldOut,
       {Result(0, {}, 0.4), Result(20, {CombinationKind::kReplace, 0}, 0.45),
        Result(20, {CombinationKind::kAddLambda, 0.1f}, 0.46), Result(20, declared, 0.5)}});
  return report;
}

TEST_CASE("the table shows retrieval, replace and what is declared") {
  REQUIRE(ReportText(Report(), /*all=*/false) ==
          "text_to_image, held_out: 1 234 queries, 10 257 items of images/g1\n"
          "  method                          depth   R@1   R@5  R@10  R@20  MRR@50"
          "    R@1 gain [95 %]             MRR gain [95 %]\n"
          "  retrieval                           -  40.0  50.0  60.0  70.0  0.4500\n"
          "  replace                            20  45.0  55.0  65.0  75.0  0.5000"
          "  +2.1 [-1.0, +5.2]  +0.0123 [+0.0100, +0.0150]\n"
          "  norm_add_lambda:0.3 (declared)     20  50.0  60.0  70.0  80.0  0.5500"
          "  +2.1 [-1.0, +5.2]  +0.0123 [+0.0100, +0.0150]\n");
}

TEST_CASE("where a bundle declares none, retrieval alone is what is declared") {
  MeasureReport report = Report();
  report.images.declared->by_default = false;
  const std::string text = ReportText(report, /*all=*/false);
  REQUIRE(absl::StrContains(text, "  retrieval (declared)  "));
  REQUIRE_FALSE(absl::StrContains(text, "norm_add_lambda"));
  const auto json = nlohmann::json::parse(ReportJson(report));
  REQUIRE(json["images"]["declared"] == nlohmann::json{{"combination", "none"}});
  REQUIRE(json["results"][0]["methods"][3]["declared"] == false);
  REQUIRE(json["results"][0]["methods"][0]["declared"] == true);
}

const std::vector<Choice> kChoices = {
    {Direction::kTextToImage, Combination{CombinationKind::kAddLambda, 0.1f}, 0.4321, 0.5},
    {Direction::kImageToText, absl::nullopt, 0.25, 0.125}};

TEST_CASE("all combinations and the choices are shown when asked for") {
  MeasureReport report = Report();
  report.live = true;
  report.list_length = 80;
  report.choices = kChoices;
  const std::string text = ReportText(report, /*all=*/true);
  REQUIRE(absl::StrContains(text, "add_lambda:0.1 "));
  REQUIRE(absl::StrContains(text, "held_out, live: "));
  REQUIRE(absl::StrContains(text, "  MRR@80  "));
  REQUIRE(
      absl::EndsWith(text,
                     "\nchoice for text_to_image: add_lambda:0.1 (mean R@1 43.2, MRR@80 0.5000)\n"
                     "choice for image_to_text: none (mean R@1 25.0, MRR@80 0.1250)\n"));
}

TEST_CASE("where every caption asks, both directions have a mean and a sum") {
  MeasureReport report = Report();
  REQUIRE(!absl::StrContains(ReportJson(report), "both_directions"));
  report.every_caption = true;
  REQUIRE(nlohmann::json::parse(ReportJson(report))["both_directions"].empty());
  report.measurements.push_back(
      {Direction::kImageToText,
       Split::kHeldOut,
       {Result(0, {}, 0.5), Result(50, {CombinationKind::kReplace, 0}, 0.7)}});
  report.measurements.push_back({Direction::kImageToText, Split::kTrain, {Result(0, {}, 0.1)}});
  REQUIRE(absl::EndsWith(ReportText(report, /*all=*/false),
                         "\nboth directions, held_out\n"
                         "  method     depth    AR   rsum\n"
                         "  retrieval      -  55.0  330.0\n"));
  const auto json = nlohmann::json::parse(ReportJson(report));
  REQUIRE(json["settings"]["captions"] == "all");
  REQUIRE(json["both_directions"].size() == 1);
  REQUIRE(json["both_directions"][0]["split"] == "held_out");
  REQUIRE(json["both_directions"][0]["methods"].size() == 1);
  REQUIRE(json["both_directions"][0]["methods"][0]["ar"].get<double>() == Approx(0.55));
  REQUIRE(json["both_directions"][0]["methods"][0]["rsum"].get<double>() == Approx(3.3));
}

TEST_CASE("gains over an earlier report have a block of their own, and say over what") {
  MeasureReport report = Report();
  REQUIRE(!absl::StrContains(ReportJson(report), "earlier"));
  report.earlier = "before.json";
  std::vector<MethodResult>& results = report.measurements[0].results;
  const Gain gain = {{{{0.01, 0, 0.02}, {0.02, 0.01, 0.03}, {0.05, 0.02, 0.08}, {}}}, {}};
  results[0].over_earlier = {{"retrieval", 0, gain}};
  // One that is not shown in the first table either, and what is declared, which was another.
  results[2].over_earlier = {{"add_lambda:0.1", 20, gain}};
  results[3].over_earlier = {{"norm_add_lambda:0.3", 20, gain}, {"retrieval", 0, gain}};
  const std::string text = ReportText(report, /*all=*/false);
  const size_t begin =
      text.find("\ntext_to_image, held_out, over before.json, with intervals of 95 %\n  method ");
  REQUIRE(begin != std::string::npos);
  std::vector<std::string> rows = absl::StrSplit(text.substr(begin + 1), '\n');
  REQUIRE(rows.size() == 7);  // with titles, and nothing behind the last
  for (std::string& row : rows) absl::RemoveExtraAsciiWhitespace(&row);
  const std::string gains =
      " +1.0 [+0.0, +2.0] +2.0 [+1.0, +3.0] +5.0 [+2.0, +8.0] +0.0 [+0.0, +0.0]"
      " +0.0000 [+0.0000, +0.0000]";
  REQUIRE(rows[2] == "retrieval - itself" + gains);
  REQUIRE(rows[3] == "replace 20 not measured then");
  REQUIRE(rows[4] == "norm_add_lambda:0.3 (declared) 20 itself" + gains);
  REQUIRE(rows[5] == "norm_add_lambda:0.3 (declared) 20 retrieval (declared)" + gains);
  const std::string all = ReportText(report, /*all=*/true);
  REQUIRE(absl::StrContains(all.substr(all.find("over before.json")), "\n  add_lambda:0.1 "));
  const auto json = nlohmann::json::parse(ReportJson(report));
  REQUIRE(json["earlier"] == "before.json");
  const auto& methods = json["results"][0]["methods"];
  REQUIRE(methods[0]["minus_earlier"][0]["recall_at_10"]["low"] == Approx(0.02));
  REQUIRE(methods[3]["minus_earlier"][1]["name"] == "retrieval");
  REQUIRE(methods[0]["ranks"] == "1 0 50");
  REQUIRE_FALSE(methods[1].contains("minus_earlier"));
  // A file's name need not be text.
  report.earlier = "\xff.json";
  REQUIRE(nlohmann::json::parse(ReportJson(report))["earlier"] == "\xEF\xBF\xBD.json");
}

TEST_CASE("JSON has everything, as fractions") {
  MeasureReport report = Report();
  report.choices = kChoices;
  const auto json = nlohmann::json::parse(ReportJson(report));
  REQUIRE(json["format_version"] == 3);
  REQUIRE(json["mode"] == "in_process");
  REQUIRE(json["images"]["generation"] == "g1");
  REQUIRE(json["images"]["declared"]["lambda"] == 0.3);
  REQUIRE(json["images"]["reranker_model"] == "model");
  REQUIRE(json["images"]["reranker"] == "fine");
  REQUIRE(json["captions"]["reranker_model"] == "");
  REQUIRE_FALSE(json["captions"].contains("declared"));
  REQUIRE(json["settings"]["list_length"] == 50);
  REQUIRE(json["settings"]["bootstrap"]["resamples"] == 10000);
  const auto& block = json["results"][0];
  REQUIRE(block["direction"] == "text_to_image");
  REQUIRE(block["split"] == "held_out");
  REQUIRE(block["query_count"] == 1234);
  REQUIRE(block["pool_size"] == 10257);
  REQUIRE(block["methods"].size() == 4);
  REQUIRE(block["methods"][0]["name"] == "retrieval");
  REQUIRE_FALSE(block["methods"][0].contains("minus_retrieval"));
  const auto& declared = block["methods"][3];
  REQUIRE(declared["combination"] == "norm_add_lambda");
  REQUIRE(declared["declared"] == true);
  REQUIRE(declared["depth"] == 20);
  REQUIRE(declared["recall"]["10"] == Approx(0.7));
  REQUIRE(declared["minus_retrieval"]["recall_at_1"]["low"] == Approx(-0.01));
  REQUIRE(declared["minus_retrieval"]["mrr"]["high"] == Approx(0.015));
  REQUIRE(block["methods"][2]["declared"] == false);
  REQUIRE(json["choice"]["text_to_image"]["combination"] == "add_lambda");
  REQUIRE(json["choice"]["text_to_image"]["lambda"] == 0.1);
  REQUIRE(json["choice"]["image_to_text"] ==
          nlohmann::json{{"combination", "none"}, {"mean_recall_at_1", 0.25}, {"mean_mrr", 0.125}});
}

}  // namespace
}  // namespace sightline
