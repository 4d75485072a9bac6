// Named lines over one x: with a legend, what each is sure of, and values under the pointer.
#ifndef SIGHTLINE_COMMON_PLOT_LINE_CHART_H_
#define SIGHTLINE_COMMON_PLOT_LINE_CHART_H_

#include <string>
#include <vector>

#include "common/plot/axis.h"
#include "common/plot/plot.h"

namespace sightline {

struct ChartLine {
  // Of a point, from and to.
  struct Whisker {
    double low = 0, high = 0;
  };

  std::string name;               // text of anybody
  std::vector<PlotPoint> points;  // ascending in x; a y that is no number breaks the line
  std::vector<Whisker> whiskers;  // of each point, or none
  bool dots = false;              // each point is marked
};

// What is drawn of them; more could not be told apart.
inline constexpr size_t kMostChartLines = 12;
// Points of one line; of more every so-manieth is drawn, and the last.
inline constexpr size_t kMostChartPoints = 2000;

// The class in page.css of line `number`, from 0: colours and dashes, then the same thin.
std::string LineClass(size_t number);

// From zero; logarithmic, if all is positive and reaches over more than two powers of ten.
Axis ChartAxis(const PlotRange& range, const Axis::Label& label);
// What the lines and their whiskers reach over.
PlotRange RangeOfY(const std::vector<ChartLine>& lines);

// The caption says what is not drawn.  Values under the pointer are written by `x_label` and
// `y_label`.
Plot LineChart(PlotText text, const Axis& x, const Axis& y, std::vector<ChartLine> lines,
               const Axis::Label& x_label, const Axis::Label& y_label);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_PLOT_LINE_CHART_H_
