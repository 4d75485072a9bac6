// A plot as SVG inside an HTML page.  Colours and widths come from the page's style sheet,
// by class, so that light, dark and print differ in one place.
#ifndef SIGHTLINE_LOADTEST_REPORT_SVG_PLOT_H_
#define SIGHTLINE_LOADTEST_REPORT_SVG_PLOT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "loadtest/report/axis.h"

namespace sightline {

// A point of data; a `y` that is no number breaks the line there.
struct PlotPoint {
  double x = 0, y = 0;
};

// What a plot is drawn for: wide pages, and phones, on which a wide one would shrink until
// nobody could read it.
struct PlotSize {
  double width = 0, height = 0;
  int x_ticks = 0, y_ticks = 0;  // about as many as have room
};
inline constexpr PlotSize kWidePlot = {760, 300, 10, 7};
inline constexpr PlotSize kNarrowPlot = {372, 270, 5, 6};

struct PlotText {
  std::string id;           // of letters, digits and dashes; one of its own in the page
  std::string title;        // for readers of screens
  std::string description;  // what the plot shows, in a sentence
  std::string x_unit, y_unit;
};

class SvgPlot {
 public:
  SvgPlot(PlotText text, PlotSize size, Axis x, Axis y);

  // What is drawn first lies below.  `css` is a class; points must be ascending in x.
  void Line(const std::vector<PlotPoint>& points, absl::string_view css);
  // The area between two step lines: from each x to the next, `width` for the last one.
  struct Step {
    double x = 0, low = 0, high = 0;
  };
  void StepArea(const std::vector<Step>& steps, double width, absl::string_view css);
  // The upper edge of such an area.
  void StepLine(const std::vector<PlotPoint>& points, double width, absl::string_view css);
  // From x to x over the whole height.
  void Band(double from, double to, absl::string_view css);
  // Words at the top of it, cut to the room until `until`; not drawn if hardly any fits.
  void BandLabel(double from, double until, absl::string_view label, absl::string_view css);
  void VerticalLine(double x, absl::string_view css);
  void HorizontalLine(double from, double to, double y, absl::string_view css);
  void Dot(const PlotPoint& point, double radius, absl::string_view css);
  void Cross(const PlotPoint& point, double radius, absl::string_view css);
  // Beside a point: where it is wanted, or on the other side if there is no room.
  enum class Side { kLeft, kRight };
  void Note(const PlotPoint& point, absl::string_view label, absl::string_view css,
            Side side = Side::kRight);

  // Values of x that the pointer snaps to.
  void HoverAt(const std::vector<double>& xs);

  // The whole element.
  std::string Svg() const;

 private:
  double X(double value) const;
  double Y(double value) const;
  double right() const { return size_.width - kRight; }
  double bottom() const { return size_.height - kBottom; }
  std::string StepPath(const std::vector<PlotPoint>& points, double width, bool backwards) const;
  std::string Grid() const;
  std::string XLabels() const;

  static constexpr double kLeft = 62, kRight = 14, kTop = 30, kBottom = 42;

  const PlotText text_;
  const PlotSize size_;
  const Axis x_, y_;
  std::string body_;
  std::string hover_;
};

// "12.3": a coordinate, to a tenth of a pixel.
std::string Coordinate(double pixels);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_REPORT_SVG_PLOT_H_
