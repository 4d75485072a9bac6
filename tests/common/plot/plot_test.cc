#include "common/plot/plot.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

Plot SomePlot() {
  const auto label = [](double value) { return absl::StrCat(value); };
  PlotText text;
  text.id = "p";
  text.title = "a < b";
  text.x_unit = "x";
  text.y_unit = "y";
  Plot plot(text, Axis::Linear(0, 10, label), Axis::Linear(0, 1, label));
  plot.Dot({5, 0.5}, "mine");
  return plot;
}

TEST_CASE("a file is the plot of a wide page with a style of its own") {
  const std::string file = SomePlot().File(".mine{fill:red}");
  REQUIRE(absl::StartsWith(file, "<svg "));
  REQUIRE(absl::EndsWith(file, "</svg>\n"));
  REQUIRE(absl::StrContains(file, " xmlns=\"http://www.w3.org/2000/svg\""));
  REQUIRE(absl::StrContains(file, ".mine{fill:red}</style><title"));
  REQUIRE(absl::StrContains(file, "a &lt; b"));
  // Inside a page it is the page's style that counts.
  const std::string svg = SomePlot().Svg(kWidePlot);
  REQUIRE_FALSE(absl::StrContains(svg, "xmlns"));
  REQUIRE_FALSE(absl::StrContains(svg, "<style>"));
  const std::string marks = svg.substr(svg.find("<title"));
  REQUIRE(absl::StrContains(file, marks));
}

}  // namespace
}  // namespace sightline
