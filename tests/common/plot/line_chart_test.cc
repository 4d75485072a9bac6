#include "common/plot/line_chart.h"

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

std::string Label(double value) {
  return absl::StrCat(value);
}

ChartLine Line(const std::string& name, std::vector<PlotPoint> points) {
  ChartLine line;
  line.name = name;
  line.points = std::move(points);
  return line;
}

Plot Chart(std::vector<ChartLine> lines) {
  PlotText text;
  text.id = "p";
  text.title = "t";
  text.caption = "c.";
  text.y_unit = "y";
  return LineChart(text, Axis::Linear(0, 10, Label), Axis::Linear(0, 10, Label), std::move(lines),
                   Label, Label);
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_CASE("each line has a class, a place in the legend and its values under the pointer") {
  const Plot plot = Chart({Line("a\tb", {{1, 2}, {2, kNoNumber}, {3, 4}}), Line("c", {{2, 5}})});
  REQUIRE(plot.hover() == "\ta b\tc\n1\t2\t-\n2\t-\t5\n3\t4\t-");
  REQUIRE(plot.legend().size() == 2);
  const std::string svg = plot.Svg(kWidePlot);
  REQUIRE_THAT(svg, Contains("class=\"line series1\"") && Contains("class=\"line series2\""));
  REQUIRE(Count(svg, "<circle") == 0);
}

TEST_CASE("points are marked where that is asked for, but for those that are no numbers") {
  ChartLine line = Line("a", {{1, 2}, {2, kNoNumber}, {3, 4}});
  line.dots = true;
  REQUIRE(Count(Chart({line}).Svg(kWidePlot), "<circle class=\"series1 point\"") == 2);
}

TEST_CASE("whiskers are drawn and count for the axis") {
  ChartLine line = Line("a", {{1, 2}, {3, 4}});
  line.whiskers = {{1, 3}, {3.5, 9}};
  const std::string svg = Chart({line}).Svg(kWidePlot);
  REQUIRE(Count(svg, "class=\"line series1 whisker\"") == 2);
  const PlotRange range = RangeOfY({line});
  REQUIRE(range.low == 1);
  REQUIRE(range.high == 9);
}

TEST_CASE("what is not drawn is told") {
  REQUIRE_THAT(Chart({Line("a", {{1, 1}})}).Html(), Contains("<figcaption>c.</figcaption>"));
  const std::vector<ChartLine> many(kMostChartLines + 3, Line("a", {{1, 1}}));
  REQUIRE_THAT(Chart(many).Html(), Contains("c. 3 more lines are not drawn."));
  REQUIRE(Chart(many).legend().size() == kMostChartLines);
  std::vector<PlotPoint> points;
  for (int i = 0; i < 6001; ++i) points.push_back({i * 1e-3, 1});
  const Plot plot = Chart({Line("a", points)});
  REQUIRE_THAT(plot.Html(), Contains("Of many points one in 4 is drawn."));
  REQUIRE(Count(plot.hover(), "\n") == 1501);
  REQUIRE_THAT(plot.hover(), Contains("\n6\t1"));  // the last
}

TEST_CASE("lines that share a colour differ in width") {
  REQUIRE(LineClass(0) == "series1");
  REQUIRE(LineClass(5) == "series6");
  REQUIRE(LineClass(6) == "series1 thin");
}

TEST_CASE("an axis is logarithmic where numbers are far apart and positive") {
  const auto middle = [](const std::vector<double>& values) {
    PlotRange range;
    for (const double value : values) range.Add(value);
    return ChartAxis(range, Label).Place(1);
  };
  REQUIRE(middle({0.001, 1000}) == Approx(0.5));
  REQUIRE(middle({1, 2}) == Approx(0.5));    // from 0 to 2
  REQUIRE(middle({0, 1000}) < 0.01);         // zero has no logarithm
  REQUIRE(middle({-1000, 1}) == Approx(1));  // nor has what is below
  REQUIRE(middle({kNoNumber}) == Approx(1));
}

}  // namespace
}  // namespace sightline
