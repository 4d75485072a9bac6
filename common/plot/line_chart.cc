#include "common/plot/line_chart.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/table.h"

namespace sightline {
namespace {

constexpr size_t kClasses = 6;  // of page.css
constexpr double kWideRange = 100;

// Every `stride`th and the last.
template <typename T>
std::vector<T> Thinned(const std::vector<T>& all, size_t stride) {
  std::vector<T> kept;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % stride == 0 || i + 1 == all.size()) kept.push_back(all[i]);
  }
  return kept;
}

// Returns how many points one stands for.
size_t Thin(ChartLine* line) {
  const size_t stride = (line->points.size() + kMostChartPoints - 1) / kMostChartPoints;
  if (stride <= 1) return 1;
  line->points = Thinned(line->points, stride);
  line->whiskers = Thinned(line->whiskers, stride);
  return stride;
}

// Draws no more than it says.
void LeaveOut(std::vector<ChartLine>* lines, std::string* caption) {
  if (lines->size() > kMostChartLines) {
    absl::StrAppend(caption, " ", lines->size() - kMostChartLines, " more lines are not drawn.");
    lines->resize(kMostChartLines);
  }
  size_t stride = 1;
  for (ChartLine& line : *lines) stride = std::max(stride, Thin(&line));
  if (stride > 1) absl::StrAppend(caption, " Of many points one in ", stride, " is drawn.");
}

// A line of names, then one for each x that any line has.
void AddHover(const std::vector<ChartLine>& lines, const Axis::Label& x_label,
              const Axis::Label& y_label, Plot* plot) {
  std::map<double, std::vector<std::string>> rows;
  std::string table;
  for (size_t i = 0; i < lines.size(); ++i) {
    absl::StrAppend(&table, "\t", Printable(lines[i].name, 0));
    for (const PlotPoint& point : lines[i].points) {
      std::vector<std::string>& row = rows[point.x];
      row.resize(lines.size(), "-");
      if (!std::isnan(point.y)) row[i] = y_label(point.y);
    }
  }
  std::vector<double> xs;
  for (const auto& [x, cells] : rows) {
    xs.push_back(x);
    absl::StrAppend(&table, "\n", x_label(x));
    for (const std::string& cell : cells) absl::StrAppend(&table, "\t", cell);
  }
  if (!xs.empty()) plot->SetHover(std::move(xs), std::move(table));
}

void Draw(const ChartLine& line, const std::string& css, Plot* plot) {
  for (size_t i = 0; i < line.whiskers.size(); ++i) {
    const double x = line.points[i].x;
    plot->Line({{x, line.whiskers[i].low}, {x, line.whiskers[i].high}}, css + " whisker");
  }
  plot->Line(line.points, css);
  for (const PlotPoint& point : line.points) {
    if (line.dots && !std::isnan(point.y)) plot->Dot(point, css + " point");
  }
}

}  // namespace

std::string LineClass(size_t number) {
  return absl::StrCat("series", number % kClasses + 1, number / kClasses % 2 == 1 ? " thin" : "");
}

Axis ChartAxis(const PlotRange& range, const Axis::Label& label) {
  if (range.low > 0 && range.high > kWideRange * range.low) {
    return Axis::Log(range.low, range.high, label);
  }
  if (range.low < 0) return Axis::Linear(range.low, range.high, label);
  return Axis::FromZero(range.high, label);
}

PlotRange RangeOfY(const std::vector<ChartLine>& lines) {
  PlotRange range;
  for (const ChartLine& line : lines) {
    for (const PlotPoint& point : line.points) range.Add(point.y);
    for (const ChartLine::Whisker& whisker : line.whiskers) {
      range.Add(whisker.low);
      range.Add(whisker.high);
    }
  }
  return range;
}

Plot LineChart(PlotText text, const Axis& x, const Axis& y, std::vector<ChartLine> lines,
               const Axis::Label& x_label, const Axis::Label& y_label) {
  LeaveOut(&lines, &text.caption);
  Plot plot(std::move(text), x, y);
  for (size_t i = 0; i < lines.size(); ++i) {
    Draw(lines[i], LineClass(i), &plot);
    plot.AddLegend(LegendShape::kLine, LineClass(i), lines[i].name);
  }
  AddHover(lines, x_label, y_label, &plot);
  return plot;
}

}  // namespace sightline
