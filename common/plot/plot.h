// A plot as SVG, inside an HTML page or as a file.  Colours and widths come from the page's style
// sheet, by class, so that light, dark and print differ in one place.
#ifndef SIGHTLINE_COMMON_PLOT_PLOT_H_
#define SIGHTLINE_COMMON_PLOT_PLOT_H_

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/plot/axis.h"

namespace sightline {

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// A point of data; a `y` that is no number breaks the line there.
struct PlotPoint {
  double x = 0, y = 0;
};

// What an axis has to show; numbers that are none do not count.
struct PlotRange {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;

  void Add(double value);
};

// What a plot is drawn for: wide pages, and phones, on which a wide one would shrink until
// nobody could read it.
struct PlotSize {
  const char* name;
  double width, height;
  int x_ticks, y_ticks;  // about as many as have room
};
inline constexpr PlotSize kWidePlot = {"wide", 760, 300, 10, 7};
inline constexpr PlotSize kNarrowPlot = {"narrow", 372, 270, 5, 6};

struct PlotText {
  std::string id;  // of letters, digits and dashes; one of its own in the page
  std::string title;
  std::string caption;
  std::string description;     // what the plot shows, in a sentence, for readers of screens
  std::string x_unit, y_unit;  // no y_unit: no labels at y either
};

enum class LegendShape { kLine, kArea, kDot, kCross };

struct LegendEntry {
  LegendShape shape = LegendShape::kLine;
  std::string css;  // class, as in the plot
  std::string label;
};

class PlotCanvas;

// Takes marks, in the order in which they are drawn, and draws them for every size.  `css` is a
// class; labels and names are text of anybody.
class Plot {
 public:
  Plot(PlotText text, Axis x, Axis y);

  // Points must be ascending in x.
  void Line(std::vector<PlotPoint> points, std::string css);
  // The area between two step lines: from each x to the next, `width` for the last one.
  struct Step {
    double x = 0, low = 0, high = 0;
  };
  void StepArea(const std::vector<Step>& steps, double width, std::string css);
  // The upper edge of such an area.
  void StepLine(const std::vector<PlotPoint>& points, double width, std::string css);
  // From x to x over the whole height.
  void Band(double from, double to, std::string css);
  // Words at the top of it, cut to the room until `until`; not drawn if hardly any fits.
  void BandLabel(double from, double until, std::string label, std::string css);
  void VerticalLine(double x, std::string css);
  void HorizontalLine(double from, double to, double y, std::string css);
  void Dot(PlotPoint point, std::string css);
  void Cross(PlotPoint point, std::string css);
  // Beside a point: where it is wanted, or on the other side if there is no room.
  enum class Side { kLeft, kRight };
  void Note(PlotPoint point, std::string label, std::string css, Side side = Side::kRight);

  // Lying bars made of parts, each in a row of its own under its label: the y axis is for them
  // alone, and what a size is high.
  struct BarPart {
    std::string css;
    std::string name;  // "rerank"
    double value = 0;  // its length, not negative
    std::string text;  // "21.3ms", written into the part with its name if there is room
  };
  void AddBar(std::string label, const std::vector<BarPart>& parts);

  void AddLegend(LegendShape shape, std::string css, std::string label);
  const std::vector<LegendEntry>& legend() const { return legend_; }

  // Values under the pointer, as lines of cells with tabs between them: names first, then a
  // line for each of `xs`, to which the pointer snaps.
  void SetHover(std::vector<double> xs, std::string table);
  const std::string& hover() const { return hover_; }

  std::string Svg(const PlotSize& size) const;
  // Title, legend, both sizes and caption: a whole <figure>.
  std::string Html() const;
  // A file that any browser shows: wide, without legend and caption.  `style` is a style sheet,
  // without `<` and `&`, for the classes of its marks.
  std::string File(absl::string_view style) const;

 private:
  using Mark = std::function<std::string(const PlotCanvas&)>;

  // With more attributes, and elements before all others.
  std::string Draw(const PlotSize& size, absl::string_view attributes,
                   absl::string_view first) const;

  const PlotText text_;
  const Axis x_, y_;
  std::vector<Mark> marks_;
  std::vector<LegendEntry> legend_;
  std::vector<double> hover_xs_;
  std::string hover_;
  int bars_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_PLOT_PLOT_H_
