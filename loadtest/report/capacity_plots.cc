#include "loadtest/report/capacity_plots.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "loadtest/report/figures.h"
#include "loadtest/report/svg_plot.h"

namespace sightline {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

double Milliseconds(const absl::optional<absl::Duration>& latency) {
  return latency.has_value() ? absl::ToDoubleMilliseconds(*latency) : kNoNumber;
}

std::string LatencyLabel(double milliseconds) {
  return LatencyText(absl::Milliseconds(milliseconds));
}

std::string RateLabel(double rate) {
  return absl::StrCat(std::round(1e6 * rate) / 1e6);
}

double HighestRate(const ReportedCapacity& capacity) {
  double highest = 0;
  for (const CurvePoint& point : capacity.curve) highest = std::max(highest, point.rate);
  return 1.04 * highest;
}

Axis RateAxis(const ReportedCapacity& capacity, const PlotSize& size) {
  return Axis::Linear(0, HighestRate(capacity), size.x_ticks, RateLabel);
}

// With words beside their lines, on different heights and sides, as they may be close.
void DrawKneeAndCapacity(const ReportedCapacity& capacity, double knee_note, double rate_note,
                         SvgPlot* plot) {
  const double knee = capacity.knee.has_value() ? capacity.curve[*capacity.knee].rate : 0;
  const bool knee_first = capacity.knee.has_value() && knee < capacity.rate;
  const auto side = [](bool first) { return first ? SvgPlot::Side::kLeft : SvgPlot::Side::kRight; };
  if (capacity.rate > 0) {
    plot->Band(0, capacity.rate, "holds");
    plot->VerticalLine(capacity.rate, "capacityline");
    plot->Note({capacity.rate, rate_note}, absl::StrCat("capacity ", RateText(capacity.rate)),
               "note strong", side(capacity.knee.has_value() && !knee_first));
  }
  if (!capacity.knee.has_value()) return;
  plot->VerticalLine(knee, "kneeline");
  plot->Note({knee, knee_note}, absl::StrCat("knee ", RateText(knee)), "note strong",
             side(knee_first));
}

// A dot where the SLO is met and a cross where it is not: not by colour alone.
void DrawPoint(const ReportedCapacity& capacity, const CurvePoint& point, double y, SvgPlot* plot) {
  if (std::isnan(y)) return;
  if (capacity.MeetsSlo(point)) {
    plot->Dot({point.rate, y}, 4, "met");
  } else {
    plot->Cross({point.rate, y}, 4, "notmet");
  }
}

void AddSloLegend(const ReportedCapacity& capacity, Figure* figure) {
  figure->legend.push_back({LegendShape::kDot, "met", "meets the SLO"});
  figure->legend.push_back({LegendShape::kCross, "notmet", "does not"});
  if (capacity.knee.has_value()) {
    figure->legend.push_back({LegendShape::kLine, "kneeline", "knee"});
  }
}

std::string Hover(const ReportedCapacity& capacity) {
  std::string table = "offered\tanswered\tp50\tp99\terrors\tdegraded";
  for (const CurvePoint& point : capacity.curve) {
    absl::StrAppend(&table, "\n", RateText(point.rate), "\t", RateText(point.achieved), "\t",
                    LatencyText(point.p50), "\t", LatencyText(point.p99), "\t",
                    FormatShare(point.error_share), "\t", FormatShare(point.degraded_share));
  }
  return table;
}

std::vector<double> Rates(const ReportedCapacity& capacity) {
  std::vector<double> rates;
  for (const CurvePoint& point : capacity.curve) rates.push_back(point.rate);
  return rates;
}

std::string DrawSaturation(const ReportedCapacity& capacity, const PlotSize& size,
                           const char* suffix) {
  const double highest = HighestRate(capacity);
  SvgPlot plot({absl::StrCat("saturation-curve-", suffix), "Saturation curve",
                absl::StrCat("Answered over offered rate at ", capacity.curve.size(),
                             " rates. Capacity: ", CapacityText(capacity), "."),
                "offered, requests/s", "answered/s"},
               size, RateAxis(capacity, size), Axis::Linear(0, highest, size.y_ticks, RateLabel));
  std::vector<PlotPoint> points;
  for (const CurvePoint& point : capacity.curve) points.push_back({point.rate, point.achieved});
  DrawKneeAndCapacity(capacity, 0.03 * highest, 0.11 * highest, &plot);
  plot.Line({{0, 0}, {highest, highest}}, "ideal");
  plot.Line(points, "p90");
  for (const CurvePoint& point : capacity.curve) DrawPoint(capacity, point, point.achieved, &plot);
  plot.HoverAt(Rates(capacity));
  return plot.Svg();
}

struct LatencyCurves {
  std::vector<PlotPoint> p50, p99;
  double low = std::numeric_limits<double>::infinity(), high = 0;
};

LatencyCurves CurvesOf(const ReportData& data) {
  LatencyCurves curves;
  const auto add = [&curves](double rate, double latency, std::vector<PlotPoint>* points) {
    points->push_back({rate, latency});
    if (std::isnan(latency)) return;
    curves.low = std::min(curves.low, latency);
    curves.high = std::max(curves.high, latency);
  };
  for (const CurvePoint& point : data.capacity->curve) {
    add(point.rate, Milliseconds(point.p50), &curves.p50);
    add(point.rate, Milliseconds(point.p99), &curves.p99);
  }
  if (curves.high == 0) return curves;
  for (const auto& [share, limit] : data.latency_limits) {
    curves.high = std::max(curves.high, Milliseconds(limit));
  }
  return curves;
}

std::string DrawLatency(const ReportData& data, const LatencyCurves& curves, const PlotSize& size,
                        const char* suffix) {
  const ReportedCapacity& capacity = *data.capacity;
  SvgPlot plot({absl::StrCat("latency-over-rate-", suffix), "Latency over offered rate",
                absl::StrCat("p50 and p99 at ", capacity.curve.size(), " rates, from ",
                             LatencyLabel(curves.low), " to ", LatencyLabel(curves.high), "."),
                "offered, requests/s", "latency, log"},
               size, RateAxis(capacity, size),
               Axis::Log(curves.low, curves.high, size.y_ticks, LatencyLabel));
  DrawKneeAndCapacity(capacity, curves.low, 1.3 * curves.low, &plot);
  for (const auto& [share, limit] : data.latency_limits) {
    plot.HorizontalLine(0, HighestRate(capacity), Milliseconds(limit), "limit");
    plot.Note({0, Milliseconds(limit)},
              absl::StrCat(QuantileName(share), " limit ", LatencyText(limit)), "note");
  }
  plot.Line(curves.p99, "p99");
  plot.Line(curves.p50, "p50");
  for (size_t i = 0; i < capacity.curve.size(); ++i) {
    DrawPoint(capacity, capacity.curve[i], curves.p99[i].y, &plot);
  }
  plot.HoverAt(Rates(capacity));
  return plot.Svg();
}

}  // namespace

absl::optional<Figure> SaturationCurvePlot(const ReportData& data) {
  if (!data.capacity.has_value() || data.capacity->curve.empty()) return absl::nullopt;
  const ReportedCapacity& capacity = *data.capacity;
  Figure figure;
  figure.id = "saturation-curve";
  figure.title = "Saturation curve";
  figure.caption =
      "Answers over offered load.  On the thin line everything is answered; the knee is where "
      "more load stops to bring more answers.";
  figure.legend = {{LegendShape::kLine, "p90", "answered"},
                   {LegendShape::kLine, "ideal", "all answered"}};
  AddSloLegend(capacity, &figure);
  figure.wide = DrawSaturation(capacity, kWidePlot, "wide");
  figure.narrow = DrawSaturation(capacity, kNarrowPlot, "narrow");
  figure.hover = Hover(capacity);
  return figure;
}

absl::optional<Figure> LatencyOverRate(const ReportData& data) {
  if (!data.capacity.has_value() || data.capacity->curve.empty()) return absl::nullopt;
  const LatencyCurves curves = CurvesOf(data);
  if (curves.high == 0) return absl::nullopt;
  Figure figure;
  figure.id = "latency-over-rate";
  figure.title = "Latency over offered rate";
  figure.caption =
      "From when requests were meant to be sent.  Of a rate that was measured more than once, the "
      "median of its windows.";
  figure.legend = {{LegendShape::kLine, "p50", "p50"}, {LegendShape::kLine, "p99", "p99"}};
  if (!data.latency_limits.empty()) {
    figure.legend.push_back({LegendShape::kLine, "limit", "limit"});
  }
  AddSloLegend(*data.capacity, &figure);
  figure.wide = DrawLatency(data, curves, kWidePlot, "wide");
  figure.narrow = DrawLatency(data, curves, kNarrowPlot, "narrow");
  figure.hover = Hover(*data.capacity);
  return figure;
}

}  // namespace sightline
