#include "loadtest/report/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/table.h"
#include "loadtest/report/xml_text.h"

namespace sightline {
namespace {

// Of the small print, on average.
constexpr double kCharacterWidth = 6.4;
constexpr int kFewestCharacters = 3;
constexpr double kPixel = 0.7;

std::string At(double x, double y) {
  return absl::StrCat(Coordinate(x), " ", Coordinate(y));
}

std::string TextAt(double x, double y, absl::string_view css, absl::string_view text) {
  return absl::StrCat("<text class=\"", css, "\" x=\"", Coordinate(x), "\" y=\"", Coordinate(y),
                      "\">", XmlText(text), "</text>");
}

std::string LineFromTo(double x1, double y1, double x2, double y2, absl::string_view css) {
  return absl::StrCat("<path class=\"", css, "\" d=\"M", At(x1, y1), "L", At(x2, y2), "\"/>");
}

}  // namespace

std::string Coordinate(double pixels) {
  // A coordinate far outside, or none at all, must not become one that no parser reads.
  if (!std::isfinite(pixels)) pixels = 0;
  std::string text = absl::StrFormat("%.1f", std::clamp(pixels, -1e5, 1e5));
  if (text.back() == '0') text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

SvgPlot::SvgPlot(PlotText text, PlotSize size, Axis x, Axis y)
    : text_(std::move(text)), size_(size), x_(std::move(x)), y_(std::move(y)) {}

double SvgPlot::X(double value) const {
  return kLeft + std::clamp(x_.Place(value), 0.0, 1.0) * (right() - kLeft);
}

double SvgPlot::Y(double value) const {
  return bottom() - std::clamp(y_.Place(value), 0.0, 1.0) * (bottom() - kTop);
}

void SvgPlot::Line(const std::vector<PlotPoint>& points, absl::string_view css) {
  std::string path;
  double last_x = 0, last_y = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    if (std::isnan(points[i].y)) continue;
    const bool starts = i == 0 || std::isnan(points[i - 1].y);
    const bool ends = i + 1 == points.size() || std::isnan(points[i + 1].y);
    const bool alone = starts && ends;
    const double x = X(points[i].x), y = Y(points[i].y);
    // What lies on the same pixel as the point before tells nothing.
    if (!starts && !ends && std::abs(x - last_x) + std::abs(y - last_y) < kPixel) continue;
    last_x = x;
    last_y = y;
    absl::StrAppend(&path, starts ? "M" : "L", At(x, y));
    // With round caps a line of no length is a dot.
    if (alone) absl::StrAppend(&path, "h0");
  }
  if (!path.empty()) absl::StrAppend(&body_, "<path class=\"line ", css, "\" d=\"", path, "\"/>");
}

// From the first point to the last or, backwards, from the last to the first.
std::string SvgPlot::StepPath(const std::vector<PlotPoint>& points, double width,
                              bool backwards) const {
  std::vector<std::string> corners;
  for (size_t i = 0; i < points.size(); ++i) {
    const double end = i + 1 < points.size() ? points[i + 1].x : points[i].x + width;
    corners.push_back(At(X(points[i].x), Y(points[i].y)));
    corners.push_back(At(X(end), Y(points[i].y)));
  }
  if (backwards) std::reverse(corners.begin(), corners.end());
  std::string path;
  for (const std::string& corner : corners) {
    absl::StrAppend(&path, path.empty() ? "" : "L", corner);
  }
  return path;
}

void SvgPlot::StepArea(const std::vector<Step>& steps, double width, absl::string_view css) {
  std::vector<PlotPoint> low, high;
  bool any = false;
  for (const Step& step : steps) {
    low.push_back({step.x, step.low});
    high.push_back({step.x, step.high});
    any = any || step.high > step.low;
  }
  if (!any) return;
  absl::StrAppend(&body_, "<path class=\"area ", css, "\" d=\"M", StepPath(high, width, false), "L",
                  StepPath(low, width, true), "Z\"/>");
}

void SvgPlot::StepLine(const std::vector<PlotPoint>& points, double width, absl::string_view css) {
  if (points.empty()) return;
  absl::StrAppend(&body_, "<path class=\"line ", css, "\" d=\"M", StepPath(points, width, false),
                  "\"/>");
}

void SvgPlot::Band(double from, double to, absl::string_view css) {
  absl::StrAppend(&body_, "<rect class=\"", css, "\" x=\"", Coordinate(X(from)), "\" y=\"",
                  Coordinate(kTop), "\" width=\"", Coordinate(X(to) - X(from)), "\" height=\"",
                  Coordinate(bottom() - kTop), "\"/>");
}

void SvgPlot::BandLabel(double from, double until, absl::string_view label, absl::string_view css) {
  const int fits = static_cast<int>((X(until) - X(from) - 4) / kCharacterWidth);
  if (fits < kFewestCharacters) return;
  const std::string text(label.data(), label.size());
  absl::StrAppend(&body_, TextAt(X(from) + 3, kTop + 12, css, Printable(text, fits)));
}

void SvgPlot::VerticalLine(double x, absl::string_view css) {
  absl::StrAppend(&body_, LineFromTo(X(x), kTop, X(x), bottom(), css));
}

void SvgPlot::HorizontalLine(double from, double to, double y, absl::string_view css) {
  absl::StrAppend(&body_, LineFromTo(X(from), Y(y), X(to), Y(y), css));
}

void SvgPlot::Dot(const PlotPoint& point, double radius, absl::string_view css) {
  absl::StrAppend(&body_, "<circle class=\"", css, "\" cx=\"", Coordinate(X(point.x)), "\" cy=\"",
                  Coordinate(Y(point.y)), "\" r=\"", Coordinate(radius), "\"/>");
}

void SvgPlot::Cross(const PlotPoint& point, double radius, absl::string_view css) {
  const double x = X(point.x), y = Y(point.y), r = radius;
  absl::StrAppend(&body_, "<path class=\"", css, "\" d=\"M", At(x - r, y - r), "L",
                  At(x + r, y + r), "M", At(x - r, y + r), "L", At(x + r, y - r), "\"/>");
}

void SvgPlot::Note(const PlotPoint& point, absl::string_view label, absl::string_view css,
                   Side side) {
  const double x = X(point.x), y = Y(point.y);
  const double length = 8 + kCharacterWidth * static_cast<double>(label.size());
  const bool left = side == Side::kLeft ? x - length >= kLeft : x + length > right();
  absl::StrAppend(&body_, TextAt(left ? x - 6 : x + 6, std::max(y - 6, kTop + 12),
                                 absl::StrCat(css, left ? " end" : ""), label));
}

void SvgPlot::HoverAt(const std::vector<double>& xs) {
  for (const double x : xs) {
    absl::StrAppend(&hover_, hover_.empty() ? "" : " ", Coordinate(X(x)));
  }
}

std::string SvgPlot::Grid() const {
  std::string svg;
  for (const Tick& tick : y_.ticks()) {
    const double y = Y(tick.value);
    absl::StrAppend(&svg, LineFromTo(kLeft, y, right(), y, "grid"),
                    TextAt(kLeft - 8, y + 4, "tick end", tick.label));
  }
  return svg;
}

// Those that do not run into the one before, or out of the picture.
std::string SvgPlot::XLabels() const {
  std::string svg;
  double taken = 0;
  for (const Tick& tick : x_.ticks()) {
    const double x = X(tick.value);
    const double half = kCharacterWidth * static_cast<double>(tick.label.size()) / 2;
    absl::StrAppend(&svg, LineFromTo(x, bottom(), x, bottom() + 4, "axis"));
    if (x - half < taken || x + half > size_.width) continue;
    absl::StrAppend(&svg, TextAt(x, bottom() + 17, "tick middle", tick.label));
    taken = x + half + kCharacterWidth;
  }
  return svg;
}

std::string SvgPlot::Svg() const {
  const std::string title = absl::StrCat(text_.id, "-title");
  const std::string description = absl::StrCat(text_.id, "-desc");
  std::string svg =
      absl::StrCat("<svg class=\"plot\" id=\"", text_.id, "\" viewBox=\"0 0 ",
                   Coordinate(size_.width), " ", Coordinate(size_.height),
                   "\" role=\"img\" aria-labelledby=\"", title, " ", description, "\"");
  if (!hover_.empty()) {
    absl::StrAppend(&svg, " data-xs=\"", hover_, "\" data-top=\"", Coordinate(kTop),
                    "\" data-bottom=\"", Coordinate(bottom()), "\"");
  }
  return absl::StrCat(svg, "><title id=\"", title, "\">", XmlText(text_.title),
                      "</title><desc id=\"", description, "\">", XmlText(text_.description),
                      "</desc>", Grid(), body_,
                      LineFromTo(kLeft, bottom(), right(), bottom(), "axis"), XLabels(),
                      TextAt(right(), size_.height - 6, "unit end", text_.x_unit),
                      TextAt(4, 14, "unit", text_.y_unit), "</svg>");
}

}  // namespace sightline
