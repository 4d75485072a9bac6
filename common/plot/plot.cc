#include "common/plot/plot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/table.h"
#include "common/plot/xml_text.h"

namespace sightline {
namespace {

constexpr double kLeft = 62, kLeftWithoutLabels = 14, kRight = 14, kTop = 30, kBottom = 42;
constexpr double kRowHeight = 58, kBarTop = 20, kBarHeight = 26, kBarGap = 2;
// Of the small print, on average, and of what is written into bars.
constexpr double kCharacterWidth = 6.4, kBarCharacterWidth = 6.8;
constexpr int kFewestCharacters = 3;
constexpr double kPixel = 0.7;
constexpr double kRadius = 4;

// Of frame and words in a file, which no page's style sheet reaches.
constexpr char kFileStyle[] =
    "svg{background:#fff}text{font:12px sans-serif;fill:#55544e}"
    ".middle{text-anchor:middle}.end{text-anchor:end}.unit,.note{font-size:11.5px}"
    ".note{fill:#14140f}.grid{stroke:#e9e8e2}.axis{stroke:#a3a29a}"
    ".line{fill:none;stroke-width:2}";

}  // namespace

// Where values lie in a plot of one size.
class PlotCanvas {
 public:
  // A `height` of zero is that of the size.  Keeps both axes.
  PlotCanvas(const Axis& x, const Axis& y, const PlotSize& size, double left, double height)
      : left(left),
        right(size.width - kRight),
        width(size.width),
        height(height > 0 ? height : size.height),
        bottom(this->height - kBottom),
        x_(x),
        y_(y) {}

  double X(double value) const { return left + Within(x_, value) * (right - left); }
  double Y(double value) const { return bottom - Within(y_, value) * (bottom - kTop); }

  const double left, right, width, height, bottom;

 private:
  static double Within(const Axis& axis, double value) {
    return std::clamp(axis.Place(value), 0.0, 1.0);
  }

  const Axis &x_, &y_;
};

namespace {

// "12.3": to a tenth of a pixel.
std::string Coordinate(double pixels) {
  // A coordinate far outside, or none at all, must not become one that no parser reads.
  if (!std::isfinite(pixels)) pixels = 0;
  std::string text = absl::StrFormat("%.1f", std::clamp(pixels, -1e5, 1e5));
  if (text.back() == '0') text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string At(double x, double y) {
  return absl::StrCat(Coordinate(x), " ", Coordinate(y));
}

std::string TextAt(double x, double y, absl::string_view css, absl::string_view text) {
  return absl::StrCat("<text class=\"", css, "\" x=\"", Coordinate(x), "\" y=\"", Coordinate(y),
                      "\">", XmlText(text), "</text>");
}

std::string Path(absl::string_view css, absl::string_view data) {
  return data.empty() ? "" : absl::StrCat("<path class=\"", css, "\" d=\"", data, "\"/>");
}

std::string LineFromTo(double x1, double y1, double x2, double y2, absl::string_view css) {
  return Path(css, absl::StrCat("M", At(x1, y1), "L", At(x2, y2)));
}

std::string CrossAt(double x, double y, double r, absl::string_view css) {
  return Path(css, absl::StrCat("M", At(x - r, y - r), "L", At(x + r, y + r), "M", At(x - r, y + r),
                                "L", At(x + r, y - r)));
}

std::string DotAt(double x, double y, double r, absl::string_view css) {
  return absl::StrCat("<circle class=\"", css, "\" cx=\"", Coordinate(x), "\" cy=\"", Coordinate(y),
                      "\" r=\"", Coordinate(r), "\"/>");
}

// `inside`: elements that it holds.
std::string RectAt(double x, double y, double width, double height, absl::string_view css,
                   absl::string_view inside = "") {
  return absl::StrCat("<rect class=\"", css, "\" x=\"", Coordinate(x), "\" y=\"", Coordinate(y),
                      "\" width=\"", Coordinate(width), "\" height=\"", Coordinate(height),
                      "\" rx=\"", inside.empty() ? 0 : 2, "\">", inside, "</rect>");
}

std::string LegendHtml(const LegendEntry& entry) {
  const std::string shape = entry.shape == LegendShape::kLine
                                ? LineFromTo(1, 6, 21, 6, absl::StrCat("line ", entry.css))
                            : entry.shape == LegendShape::kArea ? RectAt(2, 0, 18, 12, entry.css)
                            : entry.shape == LegendShape::kDot  ? DotAt(11, 6, 4.5, entry.css)
                                                               : CrossAt(11, 6, kRadius, entry.css);
  return absl::StrCat("<li><svg viewBox=\"0 0 22 12\" aria-hidden=\"true\">", shape, "</svg>",
                      XmlText(entry.label), "</li>");
}

// The corners of a step line; each x reaches to the next, the last one for `width`.
std::vector<PlotPoint> Corners(const std::vector<PlotPoint>& points, double width) {
  std::vector<PlotPoint> corners;
  for (size_t i = 0; i < points.size(); ++i) {
    corners.push_back(points[i]);
    corners.push_back({i + 1 < points.size() ? points[i + 1].x : points[i].x + width, points[i].y});
  }
  return corners;
}

// Labels of x do not run into the one before, or out of the picture.
std::string Frame(const PlotCanvas& canvas, const PlotText& text, const std::vector<Tick>& x,
                  const std::vector<Tick>& y) {
  std::string svg;
  for (const Tick& tick : y) {
    absl::StrAppend(
        &svg,
        LineFromTo(canvas.left, canvas.Y(tick.value), canvas.right, canvas.Y(tick.value), "grid"),
        TextAt(canvas.left - 8, canvas.Y(tick.value) + 4, "tick end", tick.label));
  }
  double taken = 0;
  for (const Tick& tick : x) {
    const double at = canvas.X(tick.value);
    const double half = kCharacterWidth * static_cast<double>(tick.label.size()) / 2;
    absl::StrAppend(&svg, LineFromTo(at, canvas.bottom, at, canvas.bottom + 4, "axis"));
    if (at - half < taken || at + half > canvas.width) continue;
    absl::StrAppend(&svg, TextAt(at, canvas.bottom + 17, "tick middle", tick.label));
    taken = at + half + kCharacterWidth;
  }
  return absl::StrCat(svg,
                      LineFromTo(canvas.left, canvas.bottom, canvas.right, canvas.bottom, "axis"),
                      TextAt(canvas.right, canvas.height - 6, "unit end", text.x_unit),
                      TextAt(4, 14, "unit", text.y_unit));
}

// Name and value if there is room, or the value alone, or nothing.
std::string TextOfPart(const Plot::BarPart& part, double width) {
  const auto fits = [width](const std::string& text) {
    return kBarCharacterWidth * static_cast<double>(text.size()) + 10 < width;
  };
  const std::string both = absl::StrCat(part.name, " ", part.text);
  return fits(both) ? both : fits(part.text) ? part.text : "";
}

}  // namespace

void PlotRange::Add(double value) {
  if (std::isnan(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

Plot::Plot(PlotText text, Axis x, Axis y)
    : text_(std::move(text)), x_(std::move(x)), y_(std::move(y)) {}

void Plot::Line(std::vector<PlotPoint> points, std::string css) {
  marks_.push_back([points = std::move(points), css = "line " + css](const PlotCanvas& canvas) {
    std::string path;
    double last_x = 0, last_y = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      if (std::isnan(points[i].y)) continue;
      const bool starts = i == 0 || std::isnan(points[i - 1].y);
      const bool ends = i + 1 == points.size() || std::isnan(points[i + 1].y);
      const double x = canvas.X(points[i].x), y = canvas.Y(points[i].y);
      // What lies on the same pixel as the point before tells nothing.
      if (!starts && !ends && std::abs(x - last_x) + std::abs(y - last_y) < kPixel) continue;
      last_x = x;
      last_y = y;
      // With round caps a line of no length is a dot.
      absl::StrAppend(&path, starts ? "M" : "L", At(x, y), starts && ends ? "h0" : "");
    }
    return Path(css, path);
  });
}

void Plot::StepArea(const std::vector<Step>& steps, double width, std::string css) {
  std::vector<PlotPoint> low, high;
  bool any = false;
  for (const Step& step : steps) {
    low.push_back({step.x, step.low});
    high.push_back({step.x, step.high});
    any = any || step.high > step.low;
  }
  if (!any) return;
  std::vector<PlotPoint> around = Corners(high, width);
  const std::vector<PlotPoint> back = Corners(low, width);
  around.insert(around.end(), back.rbegin(), back.rend());
  marks_.push_back([around = std::move(around), css = "area " + css](const PlotCanvas& canvas) {
    std::string path;
    for (const PlotPoint& corner : around) {
      absl::StrAppend(&path, path.empty() ? "M" : "L", At(canvas.X(corner.x), canvas.Y(corner.y)));
    }
    return Path(css, path + "Z");
  });
}

void Plot::StepLine(const std::vector<PlotPoint>& points, double width, std::string css) {
  Line(Corners(points, width), std::move(css));
}

void Plot::Band(double from, double to, std::string css) {
  marks_.push_back([=](const PlotCanvas& canvas) {
    const double left = canvas.X(from);
    return RectAt(left, kTop, canvas.X(to) - left, canvas.bottom - kTop, css);
  });
}

void Plot::BandLabel(double from, double until, std::string label, std::string css) {
  marks_.push_back([=](const PlotCanvas& canvas) -> std::string {
    const double left = canvas.X(from);
    const int fits = static_cast<int>((canvas.X(until) - left - 4) / kCharacterWidth);
    if (fits < kFewestCharacters) return "";
    return TextAt(left + 3, kTop + 12, css, Printable(label, fits));
  });
}

void Plot::VerticalLine(double x, std::string css) {
  marks_.push_back([=](const PlotCanvas& canvas) {
    return LineFromTo(canvas.X(x), kTop, canvas.X(x), canvas.bottom, css);
  });
}

void Plot::HorizontalLine(double from, double to, double y, std::string css) {
  marks_.push_back([=](const PlotCanvas& canvas) {
    return LineFromTo(canvas.X(from), canvas.Y(y), canvas.X(to), canvas.Y(y), css);
  });
}

void Plot::Dot(PlotPoint point, std::string css) {
  marks_.push_back([=](const PlotCanvas& canvas) {
    return DotAt(canvas.X(point.x), canvas.Y(point.y), kRadius, css);
  });
}

void Plot::Cross(PlotPoint point, std::string css) {
  marks_.push_back([=](const PlotCanvas& canvas) {
    return CrossAt(canvas.X(point.x), canvas.Y(point.y), kRadius, css);
  });
}

void Plot::Note(PlotPoint point, std::string label, std::string css, Side side) {
  marks_.push_back([=](const PlotCanvas& canvas) {
    const double x = canvas.X(point.x), y = canvas.Y(point.y);
    const double length = 8 + kCharacterWidth * static_cast<double>(label.size());
    const bool left = side == Side::kLeft ? x - length >= canvas.left : x + length > canvas.right;
    return TextAt(left ? x - 6 : x + 6, std::max(y - 6, kTop + 12),
                  absl::StrCat(css, left ? " end" : ""), label);
  });
}

void Plot::AddBar(std::string label, const std::vector<BarPart>& parts) {
  const double top = kTop + kRowHeight * bars_++;
  marks_.push_back([=](const PlotCanvas& canvas) {
    std::string svg = TextAt(canvas.left, top + kBarTop - 6, "rowname", label);
    double sum = 0;
    for (const BarPart& part : parts) {
      const double from = canvas.X(sum);
      sum += part.value;
      const double width = canvas.X(sum) - from - kBarGap;
      if (width <= 0.2) continue;
      const std::string title = XmlText(absl::StrCat(part.name, " ", part.text));
      absl::StrAppend(&svg, RectAt(from, top + kBarTop, width, kBarHeight, part.css,
                                   absl::StrCat("<title>", title, "</title>")));
      const std::string text = TextOfPart(part, width);
      if (text.empty()) continue;
      absl::StrAppend(&svg, TextAt(from + width / 2, top + kBarTop + kBarHeight / 2 + 4,
                                   absl::StrCat("parttext middle on-", part.css), text));
    }
    return svg;
  });
}

void Plot::AddLegend(LegendShape shape, std::string css, std::string label) {
  legend_.push_back({shape, std::move(css), std::move(label)});
}

void Plot::SetHover(std::vector<double> xs, std::string table) {
  hover_xs_ = std::move(xs);
  hover_ = std::move(table);
}

std::string Plot::Svg(const PlotSize& size) const {
  return Draw(size, "", "");
}

std::string Plot::File(absl::string_view style) const {
  return absl::StrCat(Draw(kWidePlot, " xmlns=\"http://www.w3.org/2000/svg\"",
                           absl::StrCat("<style>", kFileStyle, style, "</style>")),
                      "\n");
}

std::string Plot::Draw(const PlotSize& size, absl::string_view attributes,
                       absl::string_view first) const {
  const bool labels_y = !text_.y_unit.empty();
  const PlotCanvas canvas(x_, y_, size, labels_y ? kLeft : kLeftWithoutLabels,
                          bars_ == 0 ? 0 : kTop + bars_ * kRowHeight + kBottom);
  const std::string id = absl::StrCat(text_.id, "-", size.name);
  std::string hover;
  for (const double x : hover_xs_) {
    absl::StrAppend(&hover, hover.empty() ? " data-xs=\"" : " ", Coordinate(canvas.X(x)));
  }
  if (!hover.empty()) {
    absl::StrAppend(&hover, "\" data-top=\"", Coordinate(kTop), "\" data-bottom=\"",
                    Coordinate(canvas.bottom), "\"");
  }
  std::string svg = absl::StrCat(
      "<svg class=\"plot\" id=\"", id, "\" viewBox=\"0 0 ", At(canvas.width, canvas.height),
      "\" role=\"img\" aria-labelledby=\"", id, "-title ", id, "-desc\"", hover, attributes, ">",
      first, "<title id=\"", id, "-title\">", XmlText(text_.title), "</title><desc id=\"", id,
      "-desc\">", XmlText(text_.description), "</desc>",
      Frame(canvas, text_, x_.Ticks(size.x_ticks),
            labels_y ? y_.Ticks(size.y_ticks) : std::vector<Tick>()));
  for (const Mark& mark : marks_) svg += mark(canvas);
  return svg + "</svg>";
}

std::string Plot::Html() const {
  std::string legend;
  for (const LegendEntry& entry : legend_) legend += LegendHtml(entry);
  const bool follows = !hover_.empty();
  return absl::StrCat(
      "<figure id=\"", text_.id, "\"",
      follows ? absl::StrCat(" data-hover=\"", XmlText(hover_), "\"") : "", "><h2>",
      XmlText(text_.title), "</h2>\n<ul class=\"legend\">", legend, "</ul>\n<div class=\"wide\">",
      Svg(kWidePlot), "</div>\n<div class=\"narrow\">", Svg(kNarrowPlot), "</div>\n<figcaption>",
      XmlText(text_.caption), "</figcaption>",
      follows ? "<div class=\"tip\" aria-hidden=\"true\"></div>" : "", "</figure>\n");
}

}  // namespace sightline
