// The page of a report that was made up: two rankings alone, and sweeps over depth and lambda.
#include "services/evaluator/tables_page.h"

#include "absl/strings/str_cat.h"
#include "services/evaluator/tables_grids.h"
#include "services/evaluator/tables_plots.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

// All values are `share`, give or take a hundredth.
MethodRow RowOf(double share, size_t parts) {
  PartRow part;
  part.queries = {10, 2};
  part.values.fill(share);
  part.intervals.assign(kTableValueCount, {share, share - 0.01, share + 0.01});
  part.minus_first.assign(kTableValueCount, {0, -0.01, 0.01});
  MethodRow row;
  row.parts.assign(parts, part);
  row.meta_average = {share, share, share};
  row.meta_minus_first = Interval();
  return row;
}

struct Rig {
  explicit Rig(const std::vector<std::string>& languages = {""}) {
    report.protocol = "whole";
    report.asking = {{4, 4}};
    EvaluationPool pool;
    pool.images = {0, 1, 2, 3};
    pool.captions = {0, 1};
    for (const std::string& language : languages) report.parts.push_back({language, {pool}});
  }

  void Add(const std::string& policy, Method method, double share) {
    report.rankings.push_back({policy, method});
    report.rows.push_back(RowOf(share, report.parts.size()));
  }
  void AddTimed(const std::string& policy, Method method, double seconds, bool computed) {
    Add(policy, method, 0.5);
    QueryTime time;
    time.seconds = seconds;
    time.computed = computed;
    report.rankings.back().time = time;
  }
  // be, then be:ce at depths 2 and 4 by replace and by sums of 0.1 and 0.9.
  void AddSweep() {
    Add("be", Method(), 0.5);
    for (const int depth : {2, 4}) {
      Add("be:ce", {depth, {CombinationKind::kReplace, 0}}, 0.5 + depth * 0.01);
      for (const float lambda : {0.1f, 0.9f}) {
        Add("be:ce", {depth, {CombinationKind::kAddLambda, lambda}}, 0.6 + depth * 0.01);
      }
    }
  }

  TablesReport report;
};

std::vector<std::string> Ids(const std::vector<Plot>& plots) {
  std::vector<std::string> ids;
  for (const Plot& plot : plots) {
    const std::string html = plot.Html();
    ids.push_back(html.substr(12, html.find('"', 12) - 12));
  }
  return ids;
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_CASE("sweeps are drawn over depth and lambda, in both directions, with intervals") {
  Rig rig;
  rig.AddSweep();
  const std::vector<Plot> plots = TablesPlots(rig.report, 0);
  REQUIRE(Ids(plots) == std::vector<std::string>{"depth-tr-1-0", "depth-tr-10-0", "depth-ir-1-0",
                                                 "depth-ir-10-0", "lambda-tr-1-0", "lambda-tr-10-0",
                                                 "lambda-ir-1-0", "lambda-ir-10-0"});
  REQUIRE(plots[0].hover() ==
          "\tbe\tbe:ce replace\tbe:ce add_lambda:0.1\tbe:ce add_lambda:0.9\n"
          "2\t50.0 %\t52.0 %\t62.0 %\t62.0 %\n4\t50.0 %\t54.0 %\t64.0 %\t64.0 %");
  REQUIRE(plots[4].hover() ==
          "\tbe\tbe:ce replace, 2\tbe:ce add_lambda, 2\tbe:ce replace, 4\tbe:ce add_lambda, 4\n"
          "0.1\t50.0 %\t52.0 %\t62.0 %\t54.0 %\t64.0 %\n0.9\t50.0 %\t52.0 %\t62.0 %\t54.0 %\t64.0 "
          "%");
  // Of three lines with two points; be is flat and has none.
  REQUIRE(Count(plots[0].Svg(kWidePlot), " whisker\"") == 6);
}

TEST_CASE("a line goes from left to right, in whatever order its depths were asked for") {
  const auto line = [](const std::vector<int>& depths) {
    Rig rig;
    rig.Add("be", Method(), 0.5);
    for (const int depth : depths) {
      rig.Add("be:ce", {depth, Combination()}, 0.5 + depth * 0.01);
    }
    const std::string svg = TablesPlots(rig.report, 0)[0].Svg(kWidePlot);
    const size_t begin = svg.find("<path class=\"line series2\"");
    REQUIRE(begin != std::string::npos);
    return svg.substr(begin, svg.find("/>", begin) - begin);
  };
  REQUIRE(line({2, 3, 4}) == line({4, 2, 3}));
}

TEST_CASE("the recalls of a report are those that are drawn") {
  Rig rig;
  rig.report.recall = RecallTriple::k5To20;
  rig.report.image_to_text_first = false;
  rig.AddSweep();
  const std::vector<std::string> ids = Ids(TablesPlots(rig.report, 0));
  REQUIRE(ids[0] == "depth-ir-5-0");
  REQUIRE(ids[3] == "depth-tr-20-0");
}

TEST_CASE("where nothing is swept and no time is known there is no plot") {
  Rig rig;
  rig.Add("be", Method(), 0.5);
  rig.Add("be:ce", {20, Combination()}, 0.6);
  REQUIRE(TablesPlots(rig.report, 0).empty());
  REQUIRE_THAT(TablesPage(rig.report), !Contains("<figure") && !Contains("s a query"));
}

TEST_CASE("recall over time tells what was measured from what was not") {
  Rig rig;
  rig.AddTimed("be", Method(), 0.001, false);
  rig.AddTimed("be:ce", {20, Combination()}, 0.1, true);
  rig.AddTimed("ce", Method(), 10, false);
  rig.Add("sgraf", Method(), 0.5);
  const std::vector<Plot> plots = TablesPlots(rig.report, 0);
  REQUIRE(Ids(plots) == std::vector<std::string>{"time-0"});
  const std::string svg = plots[0].Svg(kWidePlot);
  REQUIRE(Count(svg, "<circle") == 2);
  REQUIRE(Count(svg, "<path class=\"series2 point\"") == 1);
  REQUIRE(plots[0].hover() ==
          "\tbe\tbe:ce replace\tce\n0.001\t50.0 %\t-\t-\n0.1\t-\t50.0 %\t-\n10\t-\t-\t50.0 %");
  const std::string page = TablesPage(rig.report);
  REQUIRE_THAT(page, Contains("<td class=\"n\">0.1*</td>") && Contains("was not measured"));
  REQUIRE_THAT(page, Contains("<td class=\"n\">0.001</td>") && Contains(">s a query</th>"));
}

TEST_CASE("times of nothing can be drawn") {
  Rig rig;
  rig.AddTimed("be", Method(), 0, false);
  REQUIRE_THAT(TablesPage(rig.report), Contains("id=\"time-0-wide\"") && !Contains("\"inf"));
}

TEST_CASE("the page has the papers' tables beside ours, and escapes what comes from files") {
  Rig rig({"<en>", "de"});
  rig.AddSweep();
  rig.report.protocol = "list:<b>";
  rig.report.layouts = {*FindLayout("vldeformer"), *FindLayout("multi30k")};
  const std::string page = TablesPage(rig.report);
  REQUIRE_THAT(page, Contains("As in VLDeformer, tables 2 and 3.") && Contains("AR [95 %]"));
  REQUIRE_THAT(page, Contains("As in Retrieve Fast, Rerank Smart, tables 2 and 7."));
  REQUIRE_THAT(page, Contains("50.0/50.0/50.0") && Contains("52.0/52.0/52.0"));
  REQUIRE_THAT(page, Contains("mean without en") && Contains("Meta-Ave"));
  REQUIRE_THAT(page, Contains("&lt;en&gt;") && !Contains("<en>") && !Contains("<b>"));
  REQUIRE(Count(page, "id=\"depth-tr-1-1-wide\"") == 1);
}

TEST_CASE("of many languages the first have plots") {
  std::vector<std::string> languages;
  for (int i = 0; i < 10; ++i) languages.push_back(absl::StrCat("l", i));
  Rig rig(languages);
  rig.AddSweep();
  const std::string page = TablesPage(rig.report);
  REQUIRE_THAT(page, Contains("The first 8 of 10 languages have plots."));
  REQUIRE_THAT(page, Contains("depth-tr-1-7-wide") && !Contains("depth-tr-1-8-wide"));
  REQUIRE_THAT(page, Contains("id=\"part-9\""));
}

}  // namespace
}  // namespace sightline
