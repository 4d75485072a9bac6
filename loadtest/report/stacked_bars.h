// Lying bars made of parts.
#ifndef SIGHTLINE_LOADTEST_REPORT_STACKED_BARS_H_
#define SIGHTLINE_LOADTEST_REPORT_STACKED_BARS_H_

#include <string>
#include <vector>

#include "loadtest/report/axis.h"
#include "loadtest/report/svg_plot.h"

namespace sightline {

struct BarPart {
  std::string css;   // class
  std::string name;  // "rerank"
  double value = 0;  // its length, not negative
  std::string text;  // "21.3ms", written into the part with its name if there is room
};

struct BarRow {
  std::string label;  // written above the bar
  std::vector<BarPart> parts;
};

// The height follows from the rows; of `size` only the width and the ticks count.
std::string StackedBars(const PlotText& text, const PlotSize& size, const std::vector<BarRow>& rows,
                        const Axis::Label& label);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_STACKED_BARS_H_
