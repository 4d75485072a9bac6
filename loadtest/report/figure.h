// One plot of the page, with all that stands around it.
#ifndef SIGHTLINE_LOADTEST_REPORT_FIGURE_H_
#define SIGHTLINE_LOADTEST_REPORT_FIGURE_H_

#include <string>
#include <vector>

namespace sightline {

enum class LegendShape { kLine, kArea, kDot, kCross };

struct LegendEntry {
  LegendShape shape = LegendShape::kLine;
  std::string css;  // class, as in the plot
  std::string label;
};

// Names of kinds and stages are put into the page by html_report.cc, which escapes them;
// `wide` and `narrow` are finished SVG.
struct Figure {
  std::string id;
  std::string title;
  std::string caption;
  std::vector<LegendEntry> legend;
  std::string wide, narrow;
  // Values under the pointer, as lines of cells with tabs between them: names first, then a
  // line for each x that the plot snaps to.  Empty: none.
  std::string hover;
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_FIGURE_H_
